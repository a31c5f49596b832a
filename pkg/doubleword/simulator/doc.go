// Package simulator is a faithful fake of the Doubleword batch provider, as an http.Handler. It is built from
// doubleword-contract.md alone and shares no code with the client it is a witness against.
//
//	POST /v1/files ──► rows checked one by one, stored canonically ──► 201, a bare UUID
//	POST /v1/batches ──► 201 "validating" ──► populated ──► rows run ──► completed | failed
//	                                             │            │
//	GET /v1/files/{output}/content ◄─────────────┴── lines in the order rows finish, by ?skip=
//
// # What is kept, and when
//
// Every change is one event: one line of the journal, one write call before the reply that reveals it, then applied to
// the state. Recovery replays the journal, drops a torn last line and goes on with unfinished batches. A row that a
// client has seen keeps its place. Nothing is synced to the disk: the promise covers kill -9, not power loss. Rows lie
// in one file per upload (in a temporary directory without Config.Dir), eight bytes of index each in memory; a batch
// costs about fourteen bytes a row while it runs.
//
// # Answers
//
// An answer is a function of seed and stored url and body, rendered anew whenever it is read and never stored; its "created"
// time is too. Rows run in input order mixed within blocks of sixteen. A row fails when its body asks for what a model
// server refuses (a temperature outside 0 to 2, a token limit below 1, no messages), or when Config.FailureRate chooses
// it: half of those end as NonRetriableHttpStatus, the others as each of the other reasons a client must decode.
//
// A row that offers tools is answered with calls first: in one round after another of the tools that the user's text names, in its order, or once of
// the first tool, or the one that tool_choice names; and in words once the conversation holds those rounds' results. Where tool_choice makes the model
// call a tool, it calls one every time.
//
// # What goes wrong
//
// A [Fault] goes wrong at selected calls, batches or rows; SetFaults, or PUT /_simulator/faults, changes them in
// mid-run. What a fault makes of a row
// when it runs is journalled, so that the row reads the same ever after; what it does to a call or to how a batch is
// shown lasts as long as the fault. [DialectOpenAI] turns the whole into a plain OpenAI-shaped server.
//
// # What it leaves out
//
// All keys are one account: no organisations, roles or balances. Image inputs are not fetched.
// "stream":true is ignored on every url. Error texts agree with the contract where it quotes them and are plausible
// elsewhere. No webhooks.
//
// # Time
//
// Time passes through package time only and every wait ends with Close, so a Simulator works inside a testing/synctest
// bubble through Transport, without a socket.
package simulator
