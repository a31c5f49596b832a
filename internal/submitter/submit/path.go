package submit

import (
	"strconv"
	"strings"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// Keys of a remote batch's metadata.
const (
	MetaPath    = "batchbus"         // the path, see [Path]
	MetaDigest  = "batchbus_digest"  // [events.Batch.Digest]
	MetaAttempt = "batchbus_attempt" // the attempt of the POST that made it, decimal
)

// Path is what a batch is called at the provider: "<bus id>/<queue>/<job>/<n>/". It ends in a slash so that batch 1 is no part of batch 1-1
// or 11. A path never changes its digest.
func Path(busID string, b *events.Batch) string {
	return jobPath(busID, b) + b.N + "/"
}

// jobPath begins the paths of all batches of a job.
func jobPath(busID string, b *events.Batch) string {
	return strings.Join([]string{busID, b.Queue, b.Job, ""}, "/")
}

// FilePrefix begins the names of all input files of a bus.
func FilePrefix(busID string) string { return "batchbus." + busID + "." }

// filePrefix begins the names of a batch's input files. The dot stands in no token, so no two batches share one.
func filePrefix(busID string, b *events.Batch) string {
	return FilePrefix(busID) + strings.Join([]string{b.Queue, b.Job, b.N, ""}, ".")
}

const fileSuffix = ".jsonl"

func fileName(busID string, b *events.Batch, attempt int) string {
	return filePrefix(busID, b) + strconv.Itoa(attempt) + fileSuffix
}

// ParseFileName says which batch of a bus an input file was uploaded for; false when its name is not exactly one that this package gives.
// It is pure.
func ParseFileName(busID, name string) (queue, job, n string, ok bool) {
	rest, ours := strings.CutPrefix(name, FilePrefix(busID))
	rest, whole := strings.CutSuffix(rest, fileSuffix)
	parts := strings.Split(rest, ".")
	if !ours || !whole || len(parts) != 4 {
		return "", "", "", false
	}
	attempt, err := strconv.Atoi(parts[3])
	b := events.Batch{Queue: parts[0], Job: parts[1], N: parts[2]}
	if err != nil || !events.IsToken(b.Queue) || !events.IsToken(b.Job) || !events.IsToken(b.N) || fileName(busID, &b, attempt) != name {
		return "", "", "", false
	}
	return b.Queue, b.Job, b.N, true
}

// searchText is s as the provider's search takes it: matching folds case there.
func searchText(s string) string { return strings.ToLower(s) }

func newBatch(busID string, b *events.Batch) doubleword.NewBatch {
	return doubleword.NewBatch{
		InputFileID: b.FileID, Endpoint: b.URL, CompletionWindow: b.Window,
		Metadata: map[string]string{
			MetaPath: Path(busID, b), MetaDigest: b.Digest, MetaAttempt: strconv.Itoa(b.Attempt),
		},
	}
}

// attemptOf is the attempt of the POST that made a remote batch; 0 when it does not say.
func attemptOf(remote *doubleword.Batch) int {
	attempt, err := strconv.Atoi(remote.Metadata[MetaAttempt])
	if err != nil {
		return 0
	}
	return attempt
}
