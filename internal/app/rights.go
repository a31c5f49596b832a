package app

import "github.com/batchbus/batchbus/pkg/jetstore"

// The verbs of a [Right].
const (
	Publish   = "publish"
	Subscribe = "subscribe"
)

// Right is one permission on the bus: to publish to a subject, which is how JetStream is asked for anything too, or to subscribe to it.
type Right struct{ Verb, Subject string }

// String is how people are told of it.
func (r Right) String() string { return r.Verb + " to " + r.Subject }

// Rights are what a service's user must be allowed to do; nothing beyond that is needed once the topology exists. A service that is to
// make the topology itself (setup) needs to create streams and consumers too. The list has no other order than the table's.
func Rights(service string, setup bool) []Right {
	all := common()
	switch service {
	case Ingest:
		all = append(all, consume(jetstore.StreamRequests, jetstore.ConsumerIngest)...)
		all = append(all, publish("batchbus.rows.>", "$JS.API.STREAM.MSG.DELETE."+jetstore.StreamRequests)...)
		all = append(all, answers()...)
	case Submitter:
		all = append(all, consume(jetstore.StreamRows, jetstore.ConsumerPlanner)...)
		all = append(all, consume(jetstore.StreamEvents, jetstore.ConsumerSubmitter)...)
		all = append(all, publish("batchbus.results.>")...)
		all = append(all, answers()...)
	case Poller:
		all = append(all, consume(jetstore.StreamTimers, jetstore.ConsumerPoller)...)
		all = append(all, publish("batchbus.timers.set.>")...)
	case Collector:
		all = append(all, consume(jetstore.StreamEvents, jetstore.ConsumerCollector)...)
		all = append(all, publish("batchbus.results.>", "$O.batchbus_objects.>", purge(jetstore.StreamObjects))...)
	case Gateway:
		all = append(all, publish(
			"batchbus.requests.*", "$KV.batchbus_calls.>", "$O.batchbus_objects.>", purge(jetstore.StreamObjects), "batchbus.gateway.*", "_INBOX.>",
		)...)
		all = append(all, Right{Subscribe, "batchbus.results.>"}, Right{Subscribe, "batchbus.deadletters.>"}, Right{Subscribe, "batchbus.gateway.*"})
	}
	if setup {
		all = append(all, publish("$JS.API.STREAM.CREATE.>", "$JS.API.CONSUMER.CREATE.>")...)
	}
	return all
}

// common is what all services do: look at the topology, read, change the state with its events, and get replies.
func common() []Right {
	return append(publish(
		"$SYS.REQ.USER.INFO", "$JS.API.STREAM.INFO.>", "$JS.API.CONSUMER.INFO.>", "$JS.API.STREAM.MSG.GET.>", "$JS.API.DIRECT.GET.>",
		"$KV.batchbus_jobs.>", "batchbus.events.>",
	), Right{Subscribe, "_INBOX.>"})
}

// answers is what the replicas of the control API need beside: to be asked and to answer, to pass rows, seals and cancels on, to put the
// policies of queues, and to erase.
func answers() []Right {
	return append(publish(
		"_INBOX.>", "batchbus.requests.>", "batchbus.deadletters.>", "$O.batchbus_objects.>", jetstore.QueueSubject("*"),
		purge(jetstore.StreamRows), purge(jetstore.StreamResults), purge(jetstore.StreamDeadletters), purge(jetstore.StreamObjects),
	), Right{Subscribe, "batchbus.api.>"}, Right{Subscribe, "$SRV.>"})
}

func consume(stream, consumer string) []Right {
	return publish("$JS.API.CONSUMER.MSG.NEXT."+stream+"."+consumer, "$JS.ACK."+stream+"."+consumer+".>")
}

func purge(stream string) string { return "$JS.API.STREAM.PURGE." + stream }

func publish(subjects ...string) []Right {
	rights := make([]Right, len(subjects))
	for i, subject := range subjects {
		rights[i] = Right{Publish, subject}
	}
	return rights
}
