package failpoint

import "slices"

// Entry says of a point what a crash there leaves behind.
type Entry struct {
	Point Point
	// Stands is what is durable after a crash right after the effect and was not before it. After a crash right before it, it does not stand.
	Stands string
	// Repair is what goes on from there, whether the effect was done or not.
	Repair string
}

// Table is every point of the four services and of the gateway. docs/failure-model.md shows it; a contract test compares the two.
func Table() []Entry {
	return slices.Concat(ingestTable(), plannerTable(), submitterTable(), pollerTable(), collectorTable(), apiTable(), keeperTable(), gatewayTable())
}

// Known tells whether the table has a point.
func Known(p Point) bool {
	return slices.ContainsFunc(Table(), func(e Entry) bool { return e.Point == p })
}

// What several points have in common.
const (
	again       = "the message is delivered again after the ack wait"
	retried     = "the message comes again after its delay, or after the ack wait"
	readOnly    = "nothing: it only reads"
	chunks      = "chunks of an object that does not exist"
	sweptChunks = again + " and stores a new object; the keeper deletes the chunks after a day"
	sweptObject = again + " and stores a new object; the keeper deletes this one after a day"
	madeOnce    = "whoever starts next reads it, or makes it"
	recomputed  = "the sweep of any collector or submitter completes it: totals are recomputed, not added up"
	sweepDrives = "the sweep of any submitter reads the state and goes on from it"
	sweepPolls  = "the next tick reads the state and polls again"
	sweepReads  = "the message comes again, or the sweep finds the batch: it is read on from its cursor"
	askedAgain  = "whoever asked asks again"
	bySubject   = "comes again and is stored once: its subject takes one message (expected sequence 0)"
)

func ingestTable() []Entry {
	return []Entry{
		{"ingest.commit.bus_id", "the bus' own name", madeOnce},
		{"ingest.commit.job.opened", "the job's state with its policy", again + ", finds the job open and goes on"},
		{"ingest.commit.job.cancelling", "the wish to cancel", again + " and finds the wish; nothing more is cut from then on"},
		{"ingest.publish.rows", "a block of rows, or a seal", again + "; the planner knows rows by their source and skips those that came twice, and a second seal"},
		{"ingest.publish.deadletters", "a dead letter at its source's subject", again + "; the letter " + bySubject},
		{"ingest.publish.object_chunk", chunks, sweptChunks},
		{"ingest.publish.object", "an object that no block names yet", sweptObject},
		{"ingest.publish.seal_request", "a request to seal a rolling job", "the sweep asks again; a second seal means nothing"},
		{"ingest.ack.requests", "the request is deleted: all that follows from it is stored", again + " when it was not"},
		{"ingest.nak.requests", "the request waits", retried},
	}
}

func plannerTable() []Entry {
	return []Entry{
		{"submitter.commit.job.opened", "the state of a job whose rows came without one", "the sweep finds rows without a state and opens the job"},
		{"submitter.commit.batch.planned", "batch, cut and event, all at once", "a new planner replays the job from its first block to the same place; the event is a hint, the sweep drives every planned batch"},
		{"submitter.commit.job.planned", "the last batches and the end of planning, all at once", "a new planner replays the job up to the seal and finds it planned"},
		{"submitter.commit.job", "how far the job is walked", "a new planner replays the job; walked only says what need not be stored again"},
		{"submitter.commit.job.completed", "the job's end with its totals", recomputed},
		{"submitter.publish.results", "the result of a row that was refused or cancelled", "the planner, or the driver of the batch, walks again: the result " + bySubject},
		{"submitter.publish.deadletters", "a dead letter of the planner", "the planner walks again: the letter " + bySubject},
		{"submitter.publish.object_chunk", chunks, "the cut, or the result, is made anew; the keeper deletes the chunks after a day"},
		{"submitter.publish.object", "a manifest, or a big message's content, that nothing names yet", "the cut, or the result, is made anew with an object of another name; the keeper deletes this one after a day"},
		{"submitter.ack.rows", "the planner's wake-up is done", again + ": the walk finds nothing new"},
		{"submitter.nak.rows", "the wake-up waits", retried},
	}
}

func submitterTable() []Entry {
	return []Entry{
		{"submitter.commit.bus_id", "the bus' own name", madeOnce},
		{"submitter.ack.events", "the hint to submit is done", again + ": the batch's state says what is left to do"},
		{"submitter.nak.events", "the hint waits", retried},
		{"submitter.call.list_batches", readOnly, sweepDrives + ": it lists again before it posts"},
		{"submitter.call.get_batch", readOnly, sweepDrives},
		{"submitter.call.create_file", "an input file that no state names", "the file is uploaded anew; the sweep of files deletes what neither a state nor a batch names"},
		{"submitter.commit.batch.uploaded", "the input file's id", sweepDrives + ": an upload that no state names is made anew"},
		{"submitter.commit.batch.creating", "the intent to post, with its owner, and under a limit what is reserved for it, all at once", "it is reserved once; nobody else posts: whoever finds it waits for the POST's deadline and the quiet period, lists, adopts what is there or fences"},
		{"submitter.call.create_batch", "the paid batch, whose id no state holds", "found by its path in a list after the quiet period, and adopted; when it is not there, the input file is deleted before anything is posted"},
		{"submitter.commit.batch.submitted", "the provider's id: from here the poller follows", "when it was not stored: found by its path in a list and adopted"},
		{"submitter.commit.batch.fencing", "the next attempt's fence", "whoever finds it waits for its owner's time and begins the fence anew, from the list on"},
		{"submitter.call.delete_file", "no late POST can name the old input file", "the fence begins anew: a second delete is answered 404 and the deletion is proven by a newer file"},
		{"submitter.call.list_files", readOnly, "the fence begins anew"},
		{"submitter.call.cancel_batch", "the provider stops a batch", "looked for and cancelled again until the provider says that it is not alive"},
		{"submitter.commit.batch", "why the batch waits", "nothing depends on it: it is said again"},
		{"submitter.commit.batch.twin", "the word that a twin is cancelled", "the twin is found by its path and cancelled again; the event stands once"},
		{"submitter.commit.batch.refused", "the refused batch's end, its answered rows, its follow-ups and the release of what was reserved, all at once", "the batch is refused once more: its results stand already, follow-ups are planned once"},
		{"submitter.commit.batch.cancelled", "the end of a batch that was never sent", "its results stand already, and the end is written once"},
		{"submitter.commit.batch.settled", "the end of an abandoned batch and the follow-up with its rows, all at once", "hold and wish stand: what is alive is looked for and stopped again, and the end is written once"},
		{"submitter.commit.batch.held", "a hold for a person", "the reason is met and said again"},
		{"submitter.commit.batch.resumed", "the end of a hold", "whoever ended it does so again"},
		{"submitter.commit.queue.held", "the hold of a queue and the batch's step back, both at once", "the batch is still creating when it was not stored: looked for, fenced and posted again, which is refused again and said once"},
		{"submitter.commit.budget", "what is reserved, as the batches add up to", "the next two sweeps find the ledger to differ, or not"},
		{"submitter.commit.batch.needs_attention", "an alarm", "the wait goes on and is measured anew"},
		{"submitter.commit.job.held", "a hold of the whole job", "the next walk meets the reason again"},
		{"submitter.commit.job.resumed", "the end of a cancelled job's hold whose rows are gone", "the sweep finds it held and cancelled, and ends the hold once"},
	}
}

// apiTable is about the control API, which replicas of ingest and submitter answer. Whoever asks and hears nothing asks another replica, or
// again: every request is idempotent.
func apiTable() []Entry {
	return []Entry{
		{"api.commit.queue", "the policy of a queue", askedAgain + " and the record is found as it is wanted"},
		{"api.commit.job.opened", "the job's state with its policy", askedAgain + " and the job is found open"},
		{"api.publish.requests", "a row that is retried by hand", askedAgain + " and publishes all rows; the planner knows rows by their source and skips those that came twice"},
		{"api.publish.object_chunk", chunks, askedAgain + " and stores a new object; the keeper deletes the chunks after a day"},
		{"api.publish.object", "a big row that is retried by hand, which no request names yet", askedAgain + " and stores a new object; the keeper deletes this one after a day"},
		{"api.publish.seal_request", "a request to seal, or to cancel, at the end of the job's subject", askedAgain + "; a second seal means nothing"},
		{"api.commit.batch.adopting", "the wish to adopt a provider's batch", askedAgain + " and the wish stands; the submitter sees to it"},
		{"api.commit.batch.abandoning", "the wish to abandon a provider's batch", askedAgain + " and the wish stands; the submitter sees to it"},
		{"api.commit.batch", "the wish to resume", askedAgain + " and the wish stands; the submitter sees to it"},
		{"api.commit.batch.resumed", "the end of a batch's hold", askedAgain + " and nothing is held any more; the sweep drives the batch"},
		{"api.commit.queue.held", "the pause of a queue", askedAgain + " and the queue is found paused"},
		{"api.commit.queue.resumed", "the end of a queue's hold", askedAgain + " and the queue is not held any more; the sweep drives its batches"},
		{"api.commit.job.resumed", "the end of a job's hold", askedAgain + " and nothing is held any more; the sweep walks the job"},
		{"api.purge.rows", "rows of a forgotten job are gone", askedAgain + " and the rest goes"},
		{"api.purge.results", "results of a forgotten job are gone", askedAgain + " and the rest goes"},
		{"api.purge.deadletters", "dead letters of a forgotten job are gone", askedAgain + " and the rest goes"},
		{"api.delete.object", "an object of a forgotten job is gone", askedAgain + " and the rest goes"},
		{"api.purge.object", "the marker of a deleted object is gone", askedAgain + "; the keeper purges the marker after a day"},
		{"api.commit.job.forgotten", "the word that the job is forgotten", askedAgain + " and the word stands"},
	}
}

// keeperTable is about what deletes by itself, beside each submitter.
func keeperTable() []Entry {
	return []Entry{
		{"keeper.purge.rows", "rows of a settled job are gone", "the next sweep purges again, up to the same place"},
		{"keeper.delete.object", "an object that nothing names is gone", "the next sweep deletes it, or what is left of it, again"},
		{"keeper.purge.object", "the marker of a deleted object is gone", "the next sweep purges it again; it holds nothing"},
		{"keeper.purge.object_chunk", chunks + " are gone", "the next sweep purges them again"},
	}
}

func pollerTable() []Entry {
	return []Entry{
		{"poller.commit.bus_id", "the bus' own name", madeOnce},
		{"poller.publish.ticks", "the repeating tick of an API key", "set again at the start and by each sweep"},
		{"poller.ack.ticks", "one tick is done", "the next tick comes by itself"},
		{"poller.nak.ticks", "the tick waits", "the next tick comes by itself"},
		{"poller.call.list_batches", readOnly, sweepPolls},
		{"poller.call.get_batch", readOnly, sweepPolls},
		{"poller.commit.batch", "when the batch was polled and is due again", sweepPolls},
		{"poller.commit.batch.progress", "counts, rate and the hint to collect", sweepPolls + "; the collector's sweep does not need the hint"},
		{"poller.commit.batch.finished", "the batch is terminal at the provider", "polled again when it was not stored; the collector's sweep does not need the hint"},
		{"poller.commit.batch.overdue", "the alarm that a window is over", sweepPolls + " and says so once"},
		{"poller.commit.batch.needs_attention", "the alarm that the provider does not know a batch", sweepPolls},
		{"poller.commit.batch.resumed", "the end of such an alarm, or of a missing key", sweepPolls},
		{"poller.commit.batch.held", "the hold of a batch whose key is gone", "the sweep holds it again"},
		{"poller.commit.batch.twin", "the word of a second batch on one path", "said again with the next list; the event stands once"},
		{"poller.commit.batch.orphan_batch", "the word of a batch that no state knows", "said again with the next list; the event stands once"},
	}
}

func collectorTable() []Entry {
	return []Entry{
		{"collector.commit.bus_id", "the bus' own name", madeOnce},
		{"collector.ack.events", "the hint to collect is done", again + ": the batch's state and cursor say what is left to do"},
		{"collector.nak.events", "the hint waits", retried},
		{"collector.call.get_batch", readOnly, sweepReads},
		{"collector.call.read_content", readOnly, sweepReads},
		{"collector.call.read_results", readOnly, sweepReads},
		{"collector.call.read_analytics", readOnly, sweepReads},
		{"collector.publish.results", "a row's result", "read again from the cursor: the result " + bySubject},
		{"collector.publish.object_chunk", chunks, "the answer is read again and stored as another object; the keeper deletes the chunks after a day"},
		{"collector.publish.object", "a big answer that no result names yet", "the answer is read again and stored as another object; the keeper deletes this one after a day"},
		{"collector.commit.cursor", "which rows are settled, and their sums", "the same lines are read again: a row adds its usage only when its bit was not set"},
		{"collector.commit.batch", "why the batch waits", "nothing depends on it: it is said again"},
		{"collector.commit.batch.progress", "an ended batch that the provider runs again", sweepReads},
		{"collector.commit.batch.orphan_result", "the word of an answer to a row that nobody sent", "said again when the line is read again; the event stands once"},
		{"collector.commit.batch.held", "a hold for a person", "the reason is met and said again"},
		{"collector.commit.batch.needs_attention", "an alarm", "the reason is met and said again"},
		{"collector.commit.batch.resumed", "the end of a hold", "the cause is found to be gone again"},
		{"collector.commit.batch.settled", "batch, cursor, job, follow-ups and, under a limit, what was used, all at once", sweepReads + ", and the settlement is made once: every state in it has an expected revision"},
		{"collector.commit.job.completed", "the job's end with its totals", recomputed},
	}
}

// gatewayTable is about the gateway. Whoever calls and hears nothing calls again, by the same key or with the same bytes, and meets the record.
func gatewayTable() []Entry {
	const calledAgain = "whoever called calls again, meets the record"
	return []Entry{
		{"gateway.commit.bus_id", "the bus' own name", madeOnce},
		{"gateway.commit.call", "the record of a call, with the job that its row belongs to; or the note that it was answered", calledAgain + " and its row is published, in that job; when the note is lost, the next equal call is given the same answer"},
		{"gateway.publish.requests", "a call's row, which names its job", calledAgain + " and the row is published again: the planner knows it by its source"},
		{"gateway.publish.object_chunk", chunks, calledAgain + " and a new object is stored; the keeper deletes the chunks after a day"},
		{"gateway.publish.object", "a big row that no request names yet", calledAgain + " and a new object is stored; the keeper deletes this one after a day"},
		{"gateway.call.list_models", readOnly, "whoever asked asks again"},
	}
}
