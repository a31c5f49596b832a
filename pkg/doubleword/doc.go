// Package doubleword is a typed client of the Doubleword batch API, which is OpenAI-compatible: files, batches, file
// content, merged results and models.
//
// A batch goes through these calls:
//
//	UploadFile ──> file id ──> CreateBatch ──> batch id ──> Batch / AllBatches … until Batch.Terminal
//	                                                            │
//	                    Content(output file), Content(error file)  while it runs, and again when it ended
//	                    Results(batch)                             to reconcile, in input order
//
// # What is known after a call fails
//
// Every failure of a call is an [*Error] with a [Class]. Retryable: nothing happened, or what happened does no harm
// when the call is repeated. Permanent: the provider refused, and will refuse the same again. Ambiguous: the provider may
// have done it. Only CreateBatch, the call that costs money, can be ambiguous; it is one HTTP attempt, whatever happens, and it
// must not be repeated before the list of batches was searched for a token in its metadata.
//
// # Time
//
// A small JSON call has a total timeout. A transfer (upload, content, results) has none: it may take hours, and ends when
// no byte has moved for the idle timeout. Reads, deletes and opening a content stream are repeated inside the call for a few
// seconds; everything else is the caller's to repeat.
//
// # Bytes
//
// Content streams are handed out as they arrive, uncompressed. [Scanner] splits them on LF alone; [ParseLine] finds the
// answer in each of the three line shapes and returns it as a part of the input, never decoded and encoded again.
//
// # The key
//
// The API key is a [Secret]. It is sent to the host of the base URL only: redirects are never followed, plain http is
// accepted for loopback addresses only, and an answer that echoes the key is redacted before it becomes part of an error.
//
// The wire facts are those of the provider's published server, not of a live account: times may be unix seconds or
// RFC 3339, ids may be bare or prefixed, empty ids and null are the same, unknown keys and statuses are no error.
package doubleword
