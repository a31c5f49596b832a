package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Provider is what an audit asks of the provider; a [doubleword.Client] is one.
type Provider interface {
	AllBatches(ctx context.Context, q doubleword.BatchQuery) iter.Seq2[doubleword.Batch, error]
}

// Keys of a remote batch's metadata (design.md 5.4).
const (
	pathKey   = "batchbus"
	digestKey = "batchbus_digest"
)

// readRemote compares the provider's list of the job's batches with the states.
func (a *reader) readRemote(ctx context.Context) error {
	busID, err := a.Bus.BusID(ctx)
	if err != nil {
		return err
	}
	path := strings.Join([]string{busID, a.job.Queue, a.job.Job, ""}, "/")
	var listed []doubleword.Batch
	for remote, err := range a.Provider.AllBatches(ctx, doubleword.BatchQuery{Search: strings.ToLower(path)}) {
		if err != nil {
			return fmt.Errorf("list the provider's batches: %w", err)
		}
		if strings.HasPrefix(remote.Metadata[pathKey], path) {
			listed = append(listed, remote)
		}
	}
	unnamed := a.remote(path, listed)
	for _, n := range slices.Sorted(maps.Keys(unnamed)) {
		if _, err := a.Jobs.Batch(ctx, a.job.Queue, a.job.Job, n); err == nil {
			continue // planned since the states were read
		} else if !errors.Is(err, jetstore.ErrNotFound) {
			return err
		}
		for _, remote := range unnamed[n] {
			a.report.problem(Problem{Code: OrphanBatch, Batch: n}, "the provider has %s (%s), and no state names batch %q", remote.ID, remote.Status, n)
		}
	}
	return nil
}

// remote judges the provider's batches under the job's path, and returns those of batches that were not read, by number.
func (a *reader) remote(path string, listed []doubleword.Batch) (unnamed map[string][]doubleword.Batch) {
	sum := &Remote{Batches: len(listed)}
	a.report.Remote = sum
	byN := make(map[string][]doubleword.Batch)
	for _, remote := range listed {
		n := strings.TrimSuffix(strings.TrimPrefix(remote.Metadata[pathKey], path), "/")
		byN[n] = append(byN[n], remote)
		if remote.Alive() {
			sum.Live++
		}
		if remote.Counts.Completed+remote.Counts.Failed > 0 {
			sum.Ran++
		}
		sum.Counts.Total += remote.Counts.Total
		sum.Counts.Completed += remote.Counts.Completed
		sum.Counts.Failed += remote.Counts.Failed
	}
	for i := range a.batches {
		b := &a.batches[i]
		a.planned(b, byN[b.N])
		delete(byN, b.N)
	}
	return byN
}

// planned judges the provider's batches of one planned batch.
func (a *reader) planned(b *carried, listed []doubleword.Batch) {
	var paid []string
	found := b.ProviderBatchID == "" || slices.Contains(b.Abandoned, b.ProviderBatchID)
	for _, remote := range listed {
		found = found || remote.ID == b.ProviderBatchID
		if slices.Contains(b.Abandoned, remote.ID) {
			a.abandoned(b, &remote)
			continue
		}
		if !remote.Adoptable() {
			continue
		}
		paid = append(paid, remote.ID)
		adopted := remote.ID == b.ProviderBatchID && b.ForeignDigest != "" // by a person, who was told what that means
		if remote.Metadata[digestKey] != b.Digest && !adopted {
			a.report.problem(Problem{Code: OtherDigest, Batch: b.N}, "the provider's %s holds other rows than batch %s", remote.ID, b.N)
		}
	}
	if len(paid) > 1 {
		a.report.problem(Problem{Code: PaidTwice, Batch: b.N}, "the provider runs or ran %d batches for it: %s", len(paid), strings.Join(paid, ", "))
	}
	if !found {
		a.report.problem(Problem{Code: RemoteMissing, Batch: b.N}, "the provider does not list its batch %s", b.ProviderBatchID)
	}
}

// abandoned judges a remote batch that a person gave up: what it ran is paid and not used, and its rows are in a follow-up, so it must have
// stopped.
func (a *reader) abandoned(b *carried, remote *doubleword.Batch) {
	a.report.Remote.Abandoned++
	if remote.Alive() {
		a.report.problem(Problem{Code: PaidTwice, Batch: b.N}, "the provider runs %s, which was abandoned, beside the follow-ups of batch %s", remote.ID, b.N)
	}
}
