package failpoint

import (
	"net/http"
	"strings"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Point names one kind of outside effect of one service: <service>.<verb>.<what>, such as collector.commit.cursor.
type Point string

// Programs are the programs that pass p: the control API answers in two of them, and the keeper runs beside the submitter.
func (p Point) Programs() []string {
	switch service, _, _ := strings.Cut(string(p), "."); service {
	case ServiceAPI:
		return []string{"ingest", "submitter"}
	case ServiceKeeper:
		return []string{"submitter"}
	default:
		return []string{service}
	}
}

// What runs beside a service and has points of its own.
const (
	ServiceAPI    = "api"
	ServiceKeeper = "keeper"
)

// Moment is before or after a point's effect.
type Moment string

// The moments of a point.
const (
	Before Moment = "before" // nothing was done
	After  Moment = "after"  // its outcome is known, and nothing was made of it yet
)

// Moments are all of them.
func Moments() []Moment { return []Moment{Before, After} }

// Passage is a moment of a point, as a service comes to it.
type Passage struct {
	Point  Point
	Moment Moment
}

// String is <point>:<moment>.
func (p Passage) String() string { return string(p.Point) + ":" + string(p.Moment) }

// ofEffect names the point of an effect on the bus.
func ofEffect(service string, e jetstore.Effect) Point {
	what := subjectName(e.Subjects[0])
	switch e.Verb { //nolint:exhaustive // the others are named by their subject
	case jetstore.VerbCommit:
		what = commitName(e.Subjects)
	case jetstore.VerbPublish:
		if e.Header.Get(events.HeaderSeal) != "" || e.Header.Get(events.HeaderCancel) != "" {
			what = "seal_request"
		}
	case jetstore.VerbDelete:
		what = "object"
	}
	return Point(service + "." + string(e.Verb) + "." + what)
}

// commitName names a commit by the most telling of its subjects: the last event, since what follows from something comes behind it, or else the
// kind of the first state.
func commitName(subjects []string) string {
	name := subjectName(subjects[0])
	for _, subject := range subjects {
		if kind, _, _, _, err := events.ParseEventSubject(subject); err == nil {
			name = string(kind)
		}
	}
	return name
}

// subjectName is what stands on a subject, in one word.
func subjectName(subject string) string {
	for _, known := range subjectNames() {
		if strings.HasPrefix(subject, known.prefix) {
			return known.name
		}
	}
	return "other"
}

type prefixName struct{ prefix, name string }

func subjectNames() []prefixName {
	return []prefixName{
		{events.PrefixRequests, "requests"},
		{events.PrefixRows, "rows"},
		{events.PrefixResults, "results"},
		{events.PrefixDeadletters, "deadletters"},
		{events.PrefixEvents, "events"},
		{"batchbus.timers.", "ticks"},
		{jetstore.KeySubject("job."), "job"},
		{jetstore.KeySubject("batch."), "batch"},
		{jetstore.KeySubject("cursor."), "cursor"},
		{jetstore.KeySubject("budget."), "budget"},
		{jetstore.KeySubject("bus"), "bus_id"},
		{jetstore.QueueSubject(""), "queue"},
		{jetstore.CallSubject(""), "call"},
		{"$O." + jetstore.BucketObjects + ".C.", "object_chunk"},
		{"$O." + jetstore.BucketObjects + ".M.", "object"},
	}
}

// ofRequest names the point of a call of the provider, whatever stands before the path of the API.
func ofRequest(service string, r *http.Request) Point {
	segments := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for i, segment := range segments {
		if segment == "files" || segment == "batches" || segment == "models" {
			return Point(service + ".call." + callName(r.Method, segments[i:]))
		}
	}
	return Point(service + ".call.other")
}

// callName names a call by its method and what follows from the resource's name on: files, files/<id>, files/<id>/content.
func callName(method string, path []string) string {
	thing := map[string]string{"files": "file", "batches": "batch"}[path[0]]
	switch {
	case len(path) == 1 && method == http.MethodPost:
		return "create_" + thing
	case len(path) == 1:
		return "list_" + path[0]
	case len(path) == 2 && method == http.MethodDelete:
		return "delete_" + thing
	case len(path) == 2:
		return "get_" + thing
	case path[2] == "cancel":
		return "cancel_" + thing
	default:
		return "read_" + path[2]
	}
}
