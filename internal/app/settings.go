package app

import (
	"time"

	"github.com/batchbus/batchbus/internal/keep"
	"github.com/batchbus/batchbus/internal/submitter/files"
)

// Settings are the times that services work by.
type Settings struct {
	CreateTimeout time.Duration // deadline of the paid POST
	QuietPeriod   time.Duration // beyond it, until an unanswered create is taken for settled: server slack and list lag
	// UploadAllowance is how long the second upload of a fence may go without a sign of life before another replica fences anew.
	UploadAllowance time.Duration
	PollFloor       time.Duration // the shortest time between two polls of a batch
	PollCeiling     time.Duration // the longest
	Patience        time.Duration // how long 401, 404 and silence are taken for an outage
	StuckTimeout    time.Duration // how long a batch may be validating or finalizing until a person is asked to look
	MissingGrace    time.Duration // wait for rows that neither file of a finished batch holds
	CancelGrace     time.Duration // the same after a cancel; 0: the job's policy says
	SweepInterval   time.Duration // how often each service looks for work that lost its trigger
	DrainTimeout    time.Duration // how long work in flight may go on after the stop
	Linger          time.Duration // length of a rolling job's time window; 0: the policy says
	// OrphanAge is how old an input file at the provider must be that nothing refers to, to be deleted; OrphanInterval is how often those are
	// looked for.
	OrphanAge, OrphanInterval time.Duration
	// ObjectAge is how old an object on the bus must be that nothing names, to be deleted; KeepInterval is how often those, and the rows of
	// jobs whose keep time is over, are looked for.
	ObjectAge, KeepInterval time.Duration
}

// DefaultSettings are for the real provider.
func DefaultSettings() Settings {
	return Settings{
		CreateTimeout: 5 * time.Minute, QuietPeriod: 10 * time.Minute, UploadAllowance: 30 * time.Minute,
		PollFloor: 30 * time.Second, PollCeiling: 10 * time.Minute, Patience: 15 * time.Minute, StuckTimeout: 2 * time.Hour,
		MissingGrace: 2 * time.Minute, SweepInterval: time.Minute, DrainTimeout: 10 * time.Second,
		OrphanAge: files.DefaultAge, OrphanInterval: files.DefaultInterval,
		ObjectAge: keep.DefaultObjectAge, KeepInterval: keep.DefaultInterval,
	}
}

// SimulatedSettings are for the simulator beside us, which has no hours to wait for: about a second each.
func SimulatedSettings() Settings {
	return Settings{
		CreateTimeout: 5 * time.Second, QuietPeriod: time.Second, UploadAllowance: 10 * time.Second,
		PollFloor: time.Second, PollCeiling: 2 * time.Second, Patience: 30 * time.Second, StuckTimeout: 2 * time.Hour,
		MissingGrace: time.Second, CancelGrace: time.Second, SweepInterval: 2 * time.Second, DrainTimeout: 5 * time.Second,
		OrphanAge: files.DefaultAge, OrphanInterval: files.DefaultInterval,
		ObjectAge: keep.DefaultObjectAge, KeepInterval: keep.DefaultInterval,
	}
}

// TimeFlags are the flags for [Settings]; 0 keeps the default.
type TimeFlags struct {
	CreateTimeout   time.Duration `placeholder:"DURATION" help:"Deadline of the paid call that creates a batch. Default 5m; 5s when simulated."`
	QuietPeriod     time.Duration `placeholder:"DURATION" help:"Wait beyond it before an unanswered create is looked for and fenced. Default 10m; 1s when simulated."`
	UploadAllowance time.Duration `placeholder:"DURATION" help:"How long a fence's second upload may show no sign of life before another replica takes over. Default 30m; 10s when simulated."`
	PollFloor       time.Duration `placeholder:"DURATION" help:"Shortest time between two polls of a batch. Default 30s; 1s when simulated."`
	PollCeiling     time.Duration `placeholder:"DURATION" help:"Longest time between two polls of a batch. Default 10m; 2s when simulated."`
	Patience        time.Duration `placeholder:"DURATION" help:"How long 401, 404 and silence are taken for an outage of the provider. Default 15m; 30s when simulated."`
	StuckTimeout    time.Duration `placeholder:"DURATION" help:"How long the provider may show a batch as validating or finalizing until a person is asked to look. Default 2h."`
	MissingGrace    time.Duration `placeholder:"DURATION" help:"Wait for rows that no file of a finished batch holds. Default 2m; 1s when simulated."`
	CancelGrace     time.Duration `placeholder:"DURATION" help:"The same after a cancel. Default: the job's policy, 1h; 1s when simulated."`
	SweepInterval   time.Duration `placeholder:"DURATION" help:"How often work that lost its trigger is looked for. Default 1m; 2s when simulated."`
	DrainTimeout    time.Duration `placeholder:"DURATION" help:"How long work in flight may go on after the stop. Default 10s; 5s when simulated."`
	Linger          time.Duration `placeholder:"DURATION" help:"Length of the time window of rolling jobs, in whole seconds, in queues whose policy has no linger_seconds. Ingest reads it; give every replica the same, and change it only while no request waits. Default: 1m."`
	OrphanAge       time.Duration `placeholder:"DURATION" help:"How old an input file at the provider must be that nothing refers to, to be deleted. Default 24h."`
	OrphanInterval  time.Duration `placeholder:"DURATION" help:"How often such files are looked for. Default 1h."`
	ObjectAge       time.Duration `placeholder:"DURATION" help:"How old an object on the bus must be that nothing names, to be deleted: longer than any replica stands still. Default 24h."`
	KeepInterval    time.Duration `placeholder:"DURATION" help:"How often such objects, and rows whose keep time is over, are looked for. Default 10m."`
}

// Settings are def with what the flags say in its place.
func (f TimeFlags) Settings(def Settings) Settings { return Settings(f).OrElse(def) }

// OrElse puts the value of def wherever s has none.
func (s Settings) OrElse(def Settings) Settings {
	for _, pair := range []struct{ value, otherwise *time.Duration }{
		{&s.CreateTimeout, &def.CreateTimeout},
		{&s.QuietPeriod, &def.QuietPeriod},
		{&s.UploadAllowance, &def.UploadAllowance},
		{&s.PollFloor, &def.PollFloor},
		{&s.PollCeiling, &def.PollCeiling},
		{&s.Patience, &def.Patience},
		{&s.StuckTimeout, &def.StuckTimeout},
		{&s.MissingGrace, &def.MissingGrace},
		{&s.CancelGrace, &def.CancelGrace},
		{&s.SweepInterval, &def.SweepInterval},
		{&s.DrainTimeout, &def.DrainTimeout},
		{&s.Linger, &def.Linger},
		{&s.OrphanAge, &def.OrphanAge},
		{&s.OrphanInterval, &def.OrphanInterval},
		{&s.ObjectAge, &def.ObjectAge},
		{&s.KeepInterval, &def.KeepInterval},
	} {
		if *pair.value <= 0 {
			*pair.value = *pair.otherwise
		}
	}
	return s
}
