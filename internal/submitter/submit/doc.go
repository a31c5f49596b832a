// Package submit brings planned batches to the provider and pays for each of them once, over crashes, lost replies, paused processes, two
// replicas and a bus restored from yesterday (design.md 5.4).
//
// # The states
//
// Every arrow is one compare-and-set of the batch's state with its event; whoever loses it reads again and decides again.
//
//	planned ──list, upload──► uploaded ──list──► creating ──POST──► submitted
//	                            ▲                  │  │ no answer            ▲ ▲
//	                            └─ surely not done ┘  │ wait, list: found ───┘ │
//	                                                  ▼ not found              │
//	                                              fencing: list, delete the    │
//	                                              input file, wait, list ──────┘ found: adopted as fenced
//	                                                  │ not found: upload anew
//	                                                  └──► creating (attempt+1)
//
// Definite refusals that name a row or a size end the batch as refused: its rows are answered, or go to follow-ups. A cancelled job's
// batches end as cancelled, from creating and fencing only after the same lists and the same fence. Everything else that cannot go on is a
// hold with its reason.
//
// # A held queue
//
// A create that is refused for want of money would be refused for every batch of the queue with that API key. So the refused batch's way back to
// uploaded and the queue's hold ([events.Budget]) are one publish; whoever is refused meanwhile finds the hold there and only goes back. Every
// drive reads the budget before it uploads, and again right before it wins creating. A fence goes on to its proof, and then back to planned or
// uploaded instead of to a POST:
//
//	creating ──402──► uploaded, queue_held        fencing ──proven──► planned, uploaded: queue_held
//	                     + budget.<queue>: hold, queue.held
//
// Sweeps leave such batches alone until a person resumes the queue. A cancel ends them all the same.
//
// # Refused uploads
//
// An upload costs nothing, so what a refusal means is found out by uploads, and only then written into the state, in one publish:
//
//	names a row         that row is rejected, the rest goes to a follow-up
//	names the model     every row is rejected: a batch has one model
//	too large           parts that keep to the named limit, which is remembered for the key ([limits]); halves where none is named
//	400, 422 otherwise  [findRow]: the row that is refused alone, before and after another one is taken alone; or a hold
//	anything else       again later, or a hold
//
// # Why it pays once
//
// The POST goes out only right after its process has won the change to creating; whoever finds creating never posts. It waits, on its own
// monotonic clock from when it first saw that revision, for CreateTimeout + QuietPeriod:
//
//	|◄──── CreateTimeout ────►|◄──────────── QuietPeriod ────────────►|
//	CAS, POST             client gives up    server may still commit,    list: what was made is seen
//	                                         then list replicas catch up
//
// A process that was paused between its change and its POST can still send it later than that. So before a second POST the first one's input
// file is deleted: the provider makes no batch of a file that is gone, and cancels one that was made of it. The file's deletion must be proven
// (200 deleted, or a listing that shows a newer file of ours and not the old one), or the batch is held.
//
// # Finding what was made
//
// The remote metadata carries the batch's path "<bus id>/<queue>/<job>/<n>/", its manifest digest and the attempt; the input file's name
// carries the path too. The provider's search folds case and reads "_" as a wildcard, so what it finds is compared exactly. A batch of our path
// with another digest was planned by a bus that has since been restored to an older day: it is never adopted, and nothing is posted beside it.
//
// # Ending a hold
//
// A person ends a hold by a word that the control API puts into the state; a hold that only has to be looked at again is simply taken out there.
// What calls the provider is a wish beside the hold ([events.Wish]), and [decide] acts on it like on anything else, so any process does it, and
// a death anywhere leaves both standing:
//
//	adopt    wait as a finder does ─► read it ─► is it ours, as many rows, with answers? ─► stop others of the path ─► submitted
//	abandon  creating, fencing: wait, fence ─► list ─► stop what is alive, until nothing is ─► settled, rows in a follow-up N-1
//	         submitted: stop it ─► poller and collector bring home what there is ─► the rest in a follow-up
//	resume   of a create that this provider cannot tell of: wait ─► list and delete what can be ─► planned, attempt+1
//
// The follow-up comes in the same publish as the end of the abandoned batch, and only after a look that shows nothing alive: no rows are ever in
// two live batches, and no path ever changes its digest. An adopted batch with another digest is followed as fenced with its foreign digest in
// the state: the collector then takes only answers whose id names the row of its place.
//
// # How the code is cut
//
// [decide] is the protocol: a pure, total function from what is known to the next action. A drive reads the state, decides, does one
// action, and goes round until the batch is submitted, ended, held, or has to wait. What a process knows and no state holds (when it first saw
// a revision, whether it owns a fence, how far that got) is its memory of the batch; losing it costs time and never money.
package submit
