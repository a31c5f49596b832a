package obs

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Jobs is how the states are read.
type Jobs interface {
	Jobs(ctx context.Context) iter.Seq2[jobs.Job, error]
	AllBatches(ctx context.Context) iter.Seq2[jobs.Batch, error]
	Budgets(ctx context.Context) iter.Seq2[jobs.Budget, error]
}

// Streams is how streams and consumers are looked at.
type Streams interface {
	Stream(ctx context.Context, name string) (jetstream.Stream, error)
	Consumer(ctx context.Context, stream, consumer string) (jetstream.Consumer, error)
}

const (
	// minStateInterval is the least time between two looks at the bus, whoever scrapes how often.
	minStateInterval = 15 * time.Second
	// lookShare bounds the cost where there is much to read: at most a tenth of the time is spent on it.
	lookShare = 10
	// lookTimeout is the most that one look may take.
	lookTimeout = 8 * time.Second
)

// State shows how the bus is: gauges that are read from it when somebody scrapes, at most every 15 s and for at most a tenth of the time.
// What cannot be read keeps its last value, whose age is shown too; a record that changes during the look may be counted twice until the next. It is safe for concurrent use.
type State struct {
	jobs    Jobs
	streams Streams

	mu     sync.Mutex
	last   census
	readAt time.Time
	nextAt time.Time
}

// NewState returns a collector that has not looked yet.
func NewState(j Jobs, streams Streams) *State { return &State{jobs: j, streams: streams} }

// Describe says nothing: which gauges there are depends on what is there.
func (s *State) Describe(chan<- *prometheus.Desc) {}

// Collect looks when it is time to, which may take 8 s, and hands out what is known.
func (s *State) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if begin := time.Now(); !begin.Before(s.nextAt) {
		s.look(begin)
		end := time.Now()
		s.nextAt = end.Add(max(minStateInterval, lookShare*end.Sub(begin)))
	}
	if s.readAt.IsZero() {
		return
	}
	s.last.emit(to, time.Now())
	emit(to, MetricStateAge, "Age of what the gauges of the bus tell.", time.Since(s.readAt).Seconds(), nil)
}

// look reads everything; what cannot be read leaves all as it was.
func (s *State) look(now time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	c := newCensus()
	if errors.Join(s.readJobs(ctx, &c), s.readBatches(ctx, &c), s.readBudgets(ctx, &c), s.readStreams(ctx, &c)) == nil {
		s.last, s.readAt = c, now
	}
}

func (s *State) readJobs(ctx context.Context, c *census) error {
	for j, err := range s.jobs.Jobs(ctx) {
		if err != nil {
			return err
		}
		c.job(&j.Job)
	}
	return nil
}

func (s *State) readBatches(ctx context.Context, c *census) error {
	for b, err := range s.jobs.AllBatches(ctx) {
		if err != nil {
			return err
		}
		c.batch(&b.Batch)
	}
	return nil
}

func (s *State) readBudgets(ctx context.Context, c *census) error {
	for b, err := range s.jobs.Budgets(ctx) {
		if err != nil {
			return err
		}
		for i := range b.Holds {
			c.hold("queue", b.Queue, &b.Holds[i].Hold)
		}
		if b.Spending != nil {
			c.ledgers[b.Queue] = *b.Spending
		}
	}
	return nil
}

// watched are the streams and, of those that have any, their consumers.
func watched() map[string][]string {
	return map[string][]string{
		jetstore.StreamRequests:    {jetstore.ConsumerIngest},
		jetstore.StreamRows:        {jetstore.ConsumerPlanner},
		jetstore.StreamEvents:      {jetstore.ConsumerSubmitter, jetstore.ConsumerCollector},
		jetstore.StreamTimers:      {jetstore.ConsumerPoller},
		jetstore.StreamResults:     nil,
		jetstore.StreamJobs:        nil,
		jetstore.StreamDeadletters: nil,
	}
}

func (s *State) readStreams(ctx context.Context, c *census) error {
	for name, consumers := range watched() {
		stream, err := s.streams.Stream(ctx, name)
		if err != nil {
			return err
		}
		info := stream.CachedInfo()
		c.streams[name] = streamSize{bytes: info.State.Bytes, limit: info.Config.MaxBytes}
		if name == jetstore.StreamRequests && info.State.Msgs > 0 {
			c.oldestRequest = info.State.FirstTime
		}
		for _, consumer := range consumers {
			bound, err := s.streams.Consumer(ctx, name, consumer)
			if err != nil {
				return err
			}
			state := bound.CachedInfo()
			c.consumers[consumer] = backlog{pending: state.NumPending, unacked: state.NumAckPending}
		}
	}
	return nil
}

// holdKey is what holds are counted by.
type holdKey struct{ what, code, queue string }

// held is how many things are held, and since when the oldest of them is.
type held struct {
	n     int
	since time.Time
}

type streamSize struct {
	bytes uint64
	limit int64
}

type backlog struct {
	pending uint64
	unacked int
}

// census is what one look found. It is pure.
type census struct {
	jobs            map[events.JobState]int
	batches         map[events.BatchState]int
	holds           map[holdKey]held
	ledgers         map[string]events.Ledger        // by queue
	longest         map[events.BatchState]time.Time // since when the batch that has been in the state for longest is in it
	overdue         int
	unsettledRows   int
	oldestUnsettled time.Time
	oldestRequest   time.Time
	streams         map[string]streamSize
	consumers       map[string]backlog
}

func newCensus() census {
	return census{
		jobs: make(map[events.JobState]int), batches: make(map[events.BatchState]int), holds: make(map[holdKey]held),
		ledgers: make(map[string]events.Ledger),
		longest: make(map[events.BatchState]time.Time), streams: make(map[string]streamSize), consumers: make(map[string]backlog),
	}
}

func (c *census) job(j *events.Job) {
	c.jobs[j.State]++
	if j.State == events.JobCompleted {
		return
	}
	if j.Hold != nil {
		c.hold("job", j.Queue, j.Hold)
	}
	if j.SealedAt != nil && (c.oldestUnsettled.IsZero() || j.SealedAt.Before(c.oldestUnsettled)) {
		c.oldestUnsettled = *j.SealedAt
	}
}

func (c *census) hold(what, queue string, h *events.Hold) {
	key := holdKey{what, h.Code, queue}
	all := c.holds[key]
	if all.n++; all.since.IsZero() || h.At.Before(all.since) {
		all.since = h.At
	}
	c.holds[key] = all
}

func (c *census) batch(b *events.Batch) {
	c.batches[b.State]++
	if b.State.Ended() {
		return
	}
	c.unsettledRows += b.Rows
	if b.Hold != nil {
		c.hold("batch", b.Queue, b.Hold)
	}
	if b.Overdue {
		c.overdue++
	}
	if since, ok := c.longest[b.State]; !ok || b.SinceAt.Before(since) {
		c.longest[b.State] = b.SinceAt
	}
}
