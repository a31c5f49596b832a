package obs

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/batchbus/batchbus/pkg/events"
)

// emit hands out one gauge. Its labels are the same for all gauges of a name.
func emit(to chan<- prometheus.Metric, name, help string, value float64, labels []string, values ...string) {
	to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue, value, values...)
}

// jobStates and batchStates are all there are, so that a state nobody is in shows as 0.
func jobStates() []events.JobState {
	return []events.JobState{events.JobOpen, events.JobPlanned, events.JobCompleted}
}

func batchStates() []events.BatchState {
	return []events.BatchState{
		events.BatchPlanned, events.BatchUploaded, events.BatchCreating, events.BatchFencing, events.BatchSubmitted,
		events.BatchFinished, events.BatchSettled, events.BatchRefused, events.BatchCancelled,
	}
}

func (c *census) emit(to chan<- prometheus.Metric, now time.Time) {
	c.emitStates(to, now)
	for key, all := range c.holds {
		labels, values := []string{"what", "code", "queue"}, []string{key.what, key.code, key.queue}
		emit(to, MetricHolds, "Queues, jobs and batches that wait for a person, by code.", float64(all.n), labels, values...)
		emit(to, MetricHeldSeconds, "For how long the one that has waited longest has been waiting.", age(all.since, now), labels, values...)
	}
	for queue, ledger := range c.ledgers {
		emitLedger(to, queue, &ledger, now)
	}
	emit(to, MetricBatchesOverdue, "Batches that are past what the provider promised.", float64(c.overdue), nil)
	emit(to, MetricUnsettledRows, "Rows of batches that have not ended.", float64(c.unsettledRows), nil)
	emit(to, MetricOldestUnsettled, "How long ago the oldest job without its completion was sealed; 0: none.", age(c.oldestUnsettled, now), nil)
	emit(to, MetricOldestRequest, "Age of the oldest request that is not ingested; 0: none.", age(c.oldestRequest, now), nil)
	for name, size := range c.streams {
		emit(to, MetricStreamBytes, "Bytes in a stream.", float64(size.bytes), []string{"stream"}, name)
		emit(to, MetricStreamLimit, "Most bytes of a stream; -1: no limit of its own.", float64(size.limit), []string{"stream"}, name)
	}
	for name, b := range c.consumers {
		emit(to, MetricConsumerPending, "Messages that no service has been given yet.", float64(b.pending), []string{"consumer"}, name)
		emit(to, MetricConsumerAckPending, "Messages in hand or given back for later.", float64(b.unacked), []string{"consumer"}, name)
	}
}

// emitLedger tells what a queue under limits has spent, and has reserved by estimates. A day that is over has spent nothing.
func emitLedger(to chan<- prometheus.Metric, queue string, l *events.Ledger, now time.Time) {
	today := l.Today
	if l.Day < now.UTC().Format(time.DateOnly) {
		today = events.Spending{}
	}
	for _, of := range []struct {
		what   string
		amount events.Amount
	}{{"spent", l.Total.Spent}, {"reserved", l.Total.Reserved}, {"spent_today", today.Spent}, {"reserved_today", today.Reserved}} {
		labels := []string{"queue", "what"}
		emit(to, MetricQueueTokens, "Tokens that a queue under limits has spent and, by estimates, reserved.", float64(of.amount.Tokens), labels, queue, of.what)
		emit(to, MetricQueueMoney, "Money that it has spent and reserved, in the currency of its price table.", float64(of.amount.Money)/float64(events.MoneyUnit), labels, queue, of.what)
	}
}

func (c *census) emitStates(to chan<- prometheus.Metric, now time.Time) {
	for _, state := range jobStates() {
		emit(to, MetricJobs, "Jobs by state.", float64(c.jobs[state]), []string{"state"}, string(state))
	}
	for _, state := range batchStates() {
		emit(to, MetricBatches, "Batches by state.", float64(c.batches[state]), []string{"state"}, string(state))
		if !state.Ended() {
			emit(to, MetricOldestBatchState, "How long the batch that has been in a state for longest is in it; 0: none.",
				age(c.longest[state], now), []string{"state"}, string(state))
		}
	}
}

func age(since, now time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return max(0, now.Sub(since).Seconds())
}
