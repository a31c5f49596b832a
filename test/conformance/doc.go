// Package conformance asks a server whether it is the provider that batchbus was built for. Its tests go claim by claim through what
// doubleword-contract.md says, by way of pkg/doubleword and, where that hides a detail, by plain HTTP, and write a report.
//
//	state what it spends ──► probes that cost nothing ──► one small batch, to its end ──► a second one, cancelled at once
//	                                                                                              │
//	        fails only when something that batchbus relies on differs ◄── report, a line a claim ──┴── deletes what it made
//
// Without settings it asks simulators in this process, over real HTTP, one of each dialect. To ask a real server:
//
//	CONFORMANCE_BASE_URL=https://api.doubleword.ai/v1 DOUBLEWORD_API_KEY=... CONFORMANCE_MODEL=Qwen/Qwen3.5-4B \
//	CONFORMANCE_SPEND=yes go test ./test/conformance -run TestServer -v -timeout 0 -conformance.report report.md
//
// CONFORMANCE_WINDOW is the completion window, 24h unless set. -conformance.patience (26h) bounds the wait for the batch,
// -conformance.settle (2m) each wait for lists and bills to catch up; give -timeout 0, since go test stops after ten minutes. Without
// CONFORMANCE_SPEND=yes nothing is sent to a real server, and the test says what it would spend.
package conformance
