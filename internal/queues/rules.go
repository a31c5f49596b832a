package queues

import (
	"time"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

// Rules are what a policy means for the rows of its jobs. The error is a [rows.ErrSetting] or [rows.ErrPath]: no policy that [Check] takes has one.
func Rules(p *events.Policy) (*rows.Rules, error) {
	settings, err := settingsOf(p)
	if err != nil {
		return nil, err
	}
	rules := rows.DefaultRules()
	rules.DefaultModel, rules.Model, rules.Models, rules.Set = p.DefaultModel, p.Model, p.Models, settings
	if len(p.URLs) > 0 {
		rules.URLs = p.URLs
	}
	if p.MaxRowBytes > 0 {
		rules.MaxRowBytes = p.MaxRowBytes
	}
	return &rules, nil
}

func settingsOf(p *events.Policy) ([]rows.Setting, error) {
	var settings []rows.Setting
	for _, text := range p.Set {
		s, err := rows.ParseSetting(text)
		if err != nil {
			return nil, err
		}
		settings = append(settings, s)
	}
	return settings, nil
}

// Rolling is the policy of a rolling job of the queue whose window is so long: its batches are cut at the sizes that the queue has for those.
func Rolling(p events.Policy, linger time.Duration) events.Policy {
	p.LingerSeconds = int(linger / time.Second)
	if p.RollingRowsPerBatch > 0 {
		p.MaxRowsPerBatch = min(p.MaxRowsPerBatch, p.RollingRowsPerBatch)
	}
	if p.RollingBytesPerBatch > 0 {
		p.MaxBytesPerBatch = min(p.MaxBytesPerBatch, p.RollingBytesPerBatch)
	}
	return p
}
