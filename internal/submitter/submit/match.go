package submit

import (
	"cmp"
	"slices"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// matches are the remote batches of one path that count: alive, or with completed rows, or failed with all rows failed.
type matches struct {
	ours    []doubleword.Batch // with the batch's digest, the oldest first
	foreign []doubleword.Batch // with another
}

func matchesOf(listed []doubleword.Batch, digest string) matches {
	var m matches
	for _, remote := range listed {
		switch {
		case !remote.Adoptable():
		case remote.Metadata[MetaDigest] == digest:
			m.ours = append(m.ours, remote)
		default:
			m.foreign = append(m.foreign, remote)
		}
	}
	slices.SortFunc(m.ours, func(a, b doubleword.Batch) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return m
}

// choose is the one to follow: made of the given file, else the oldest.
func (m matches) choose(fileID string) doubleword.Batch {
	for _, remote := range m.ours {
		if fileID != "" && remote.InputFileID == fileID {
			return remote
		}
	}
	return m.ours[0]
}

// furthest is the one with the most completed rows, of equal ones the oldest.
func (m matches) furthest() doubleword.Batch {
	best := m.ours[0]
	for _, remote := range m.ours[1:] {
		if remote.Counts.Completed > best.Counts.Completed {
			best = remote
		}
	}
	return best
}

// liveBut are those that may still start rows, all but the one with the given id.
func (m matches) liveBut(id string) []doubleword.Batch {
	return m.live(func(remote *doubleword.Batch) bool { return remote.ID != id })
}

// liveBefore are those that may still start rows and were made by a POST before the given attempt. Later ones are another owner's:
// cancelling those would be a stale process' mistake.
func (m matches) liveBefore(attempt int) []doubleword.Batch {
	return m.live(func(remote *doubleword.Batch) bool { return attemptOf(remote) < attempt })
}

func (m matches) live(want func(*doubleword.Batch) bool) []doubleword.Batch {
	var live []doubleword.Batch
	for i := range m.ours {
		if m.ours[i].Alive() && want(&m.ours[i]) {
			live = append(live, m.ours[i])
		}
	}
	return live
}

// explains reports whether a planned batch's state accounts for a remote batch of its path.
func explains(b *events.Batch, remote *doubleword.Batch) bool {
	digest := remote.Metadata[MetaDigest]
	return digest == b.Digest || digest == b.ForeignDigest || remote.ID == b.ProviderBatchID || slices.Contains(b.Abandoned, remote.ID)
}
