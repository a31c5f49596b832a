package submit

import (
	"fmt"
	"strings"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// decideWish: a person has looked and said how the hold is to end. Until it has, the wish stands, so a crash anywhere leaves it to be begun
// again.
func decideWish(v *view) action {
	switch hold := v.batch.Hold; {
	case !v.key:
		return decideKeyless(v)
	case hold != nil && hold.Code == events.HoldKeyMissing:
		return action{kind: resume}
	}
	if delay := v.untilAnswered(); delay > 0 {
		return action{kind: wait, delay: delay}
	}
	switch v.batch.Wish.Kind {
	case events.WishAdopt:
		return decideAdopt(v)
	case events.WishAbandon:
		return decideAbandon(v)
	case events.WishResume:
		return decideWord(v)
	default:
		return unwish(v, "batchbus does not know the wish "+string(v.batch.Wish.Kind))
	}
}

// unwish takes the wish back and holds the batch as before, for the reason that message says.
func unwish(v *view, message string) action {
	return action{kind: refuseWish, code: v.batch.Wish.Hold, message: message}
}

// untilAnswered is how long a POST, or the owner of a fence, may still be at work.
func (v *view) untilAnswered() time.Duration {
	seen := v.now.Sub(v.memory.seenAt)
	switch {
	case v.batch.State == events.BatchCreating:
		return v.patience.answer - seen
	case v.batch.State == events.BatchFencing && !v.memory.mine:
		return v.patience.owner - seen
	default:
		return 0
	}
}

// decideAdopt follows the batch that the person means, once nothing else of this path is alive.
func decideAdopt(v *view) action {
	if !unsent(v.batch.State) && v.batch.State != events.BatchCreating && v.batch.State != events.BatchFencing {
		return unwish(v, "the batch follows "+v.batch.ProviderBatchID+" already")
	}
	if !v.listed {
		return action{kind: lookNamed}
	}
	chosen, fault := v.meant()
	if fault == "" {
		fault = v.unlike(&chosen)
	}
	switch twins := aliveBut(v.listing, chosen.ID); {
	case fault != "":
		return unwish(v, fault)
	case len(twins) > 0:
		return action{kind: stopRemotes, twins: twins}
	case foreignDigest(v.batch, &chosen) != "" && chosen.Counts.Total == 0:
		return action{kind: wait, delay: time.Minute} // its rows are not counted yet
	}
	return action{
		kind: adopt, remote: chosen, fenced: foreignDigest(v.batch, &chosen) != "" || isFenced(v.batch, &chosen),
	}
}

// meant is the listed batch that the wish names, or the only one that is worth following; otherwise it says what is wrong.
func (v *view) meant() (chosen doubleword.Batch, fault string) {
	var ids []string
	for _, remote := range v.listing {
		if remote.ID == v.batch.Wish.ProviderBatchID {
			return remote, ""
		}
		if remote.Adoptable() {
			chosen, ids = remote, append(ids, remote.ID)
		}
	}
	switch named := v.batch.Wish.ProviderBatchID; {
	case named != "":
		return chosen, "the provider has no batch " + named
	case len(ids) == 0:
		return chosen, "the provider has no batch of this path that runs or has answers: name the one to adopt, or abandon"
	case len(ids) > 1:
		return chosen, "the provider has several batches of this path, name the one to adopt: " + strings.Join(ids, " ")
	}
	return chosen, ""
}

// unlike says what shows that a remote batch is not this one, or cannot be told to be.
func (v *view) unlike(remote *doubleword.Batch) string {
	b := v.batch
	switch {
	case !v.isOurs(remote):
		return fmt.Sprintf("the provider's %s is not of the path %s", remote.ID, v.path)
	case !remote.Adoptable():
		return fmt.Sprintf("the provider's %s is %s and has no answer: there is nothing to follow, abandon it", remote.ID, remote.Status)
	case remote.Counts.Total != 0 && remote.Counts.Total != b.Rows:
		return fmt.Sprintf("the provider's %s has %d rows and this batch %d: abandon it", remote.ID, remote.Counts.Total, b.Rows)
	case remote.Endpoint != "" && remote.Endpoint != b.URL, remote.CompletionWindow != "" && remote.CompletionWindow != b.Window:
		return fmt.Sprintf("the provider's %s is for %s within %s: abandon it", remote.ID, remote.Endpoint, remote.CompletionWindow)
	case foreignDigest(b, remote) != "" && b.OpaqueIDs:
		return fmt.Sprintf("the provider's %s was planned with other rows, and opaque ids do not tell which: abandon it", remote.ID)
	}
	return ""
}

// isOurs reports whether a remote batch says that it is of this path; one of a provider that keeps no metadata says nothing.
func (v *view) isOurs(remote *doubleword.Batch) bool {
	path, said := remote.Metadata[MetaPath]
	return path == v.path || !said && !v.can.ListByMetadata
}

// foreignDigest is the digest of a remote batch that does not hold the rows of b for certain; empty when it does.
func foreignDigest(b *events.Batch, remote *doubleword.Batch) string {
	digest, said := remote.Metadata[MetaDigest]
	switch {
	case digest == b.Digest, b.FileID != "" && remote.InputFileID == b.FileID:
		return ""
	case !said:
		return events.UnknownDigest
	default:
		return digest
	}
}

func aliveBut(listing []doubleword.Batch, id string) (alive []doubleword.Batch) {
	for _, remote := range listing {
		if remote.Alive() && remote.ID != id {
			alive = append(alive, remote)
		}
	}
	return alive
}

// decideAbandon stops whatever the provider has of this path, and only then plans the rows anew. Where a POST may still be under way its
// input file goes first, as in a fence; where that cannot be proven, the person's wish stands for the proof.
func decideAbandon(v *view) action {
	fence := &v.memory.fence
	unanswered := v.batch.State == events.BatchCreating || v.batch.State == events.BatchFencing
	switch fencing := unanswered && v.can.DeleteFile; {
	case fencing && v.batch.State == events.BatchCreating, fencing && !v.memory.mine:
		return action{kind: startFence}
	case fencing && fence.provenAt.IsZero() && !fence.gone:
		return action{kind: deleteFile}
	case fencing && fence.provenAt.IsZero():
		return action{kind: believe}
	case fencing && v.patience.quiet > v.now.Sub(fence.provenAt):
		return action{kind: wait, delay: v.patience.quiet - v.now.Sub(fence.provenAt)}
	}
	if !v.listed {
		return action{kind: lookNamed}
	}
	for i := range v.listing {
		if !v.isOurs(&v.listing[i]) {
			return unwish(v, fmt.Sprintf("the provider's %s is not of the path %s", v.listing[i].ID, v.path))
		}
	}
	switch alive := aliveBut(v.listing, ""); {
	case len(alive) > 0:
		return action{kind: stopRemotes, twins: alive}
	case v.batch.State == events.BatchSubmitted:
		return action{kind: leave}
	default:
		return action{kind: endAbandoned}
	}
}

// decideWord goes on from a create without an answer on the person's word that the provider has no batch of it. What can be seen is believed
// before it, and what can be fenced is.
func decideWord(v *view) action {
	switch {
	case v.batch.State != events.BatchCreating && v.batch.State != events.BatchFencing:
		return action{kind: dropWish}
	case v.can.ListByMetadata && !v.listed:
		return action{kind: look}
	}
	switch found, ok := decideMatches(v); {
	case ok && found.kind == hold:
		return action{kind: refuseWish, code: found.code, message: found.message}
	case ok:
		return found
	case v.can.ListByMetadata && v.can.DeleteFile:
		return action{kind: startFence}
	case v.can.DeleteFile && v.memory.fence.provenAt.IsZero() && !v.memory.fence.gone:
		return action{kind: deleteFile}
	case v.cancelled:
		return action{kind: endCancelled}
	default:
		return action{kind: resend}
	}
}
