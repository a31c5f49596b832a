package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/test/rig"
)

// seedMessage is one request message: its id and rows make the sources of its rows.
type seedMessage struct {
	id    string
	lines []string
}

// rollingName is the name of rows without a job: they belong to the rolling jobs of their time, which seal themselves.
const rollingName = ""

// seedJob is what is published of one job.
type seedJob struct {
	name       string
	from       time.Duration    // of the storm
	lasts      time.Duration    // until its seal, if nothing is in the way
	publishers [2][]seedMessage // at the same time
	late       []seedMessage    // behind the seal
	shared     bool             // some rows have one custom_id
	owned      int              // different usable custom_ids: each ends as a result
}

// published is how many rows reach the bus, each source once.
func (j *seedJob) published() int {
	lines := map[string]int{}
	for _, messages := range [][]seedMessage{j.publishers[0], j.publishers[1], j.late} {
		for _, m := range messages {
			lines[m.id] = len(m.lines)
		}
	}
	return sum(lines)
}

// drawJob makes so many rows in one to four groups. A second publisher repeats some of the messages: under the same id, as one does that
// was not sure, or under another, as one that does not know better. Late messages come behind the seal.
func drawJob(r *rand.Rand, name string, rows int) seedJob {
	j := seedJob{name: name}
	groups := 1 + r.IntN(4)
	for at := 0; at < rows; {
		m := seedMessage{id: fmt.Sprintf("%s.a.%d", name, at)}
		for range 1 + r.IntN(12) {
			m.lines = append(m.lines, drawRow(r, &j, at, groups))
			at++
		}
		j.publishers[0] = append(j.publishers[0], m)
		if r.IntN(8) == 0 {
			again := seedMessage{id: m.id, lines: m.lines}
			if r.IntN(2) == 0 {
				again.id = fmt.Sprintf("%s.b.%d", name, at)
			}
			j.publishers[1] = append(j.publishers[1], again)
		}
		if r.IntN(20) == 0 {
			j.late = append(j.late, seedMessage{id: fmt.Sprintf("%s.late.%d", name, at), lines: m.lines})
		}
	}
	return j
}

// drawRow is one row: good, or as careless publishers have it.
func drawRow(r *rand.Rand, j *seedJob, i, groups int) string {
	id, model := rig.RowID(i), fmt.Sprintf("model-%d", r.IntN(groups))
	switch r.IntN(25) {
	case 0: // the provider's model refuses it: failed
		j.owned++
		return fmt.Sprintf(`{"custom_id":%q,"method":"POST","url":"/v1/chat/completions","body":{"model":%q,"temperature":3,"messages":[]}}`, id, model)
	case 1: // rejected
		j.owned++
		return fmt.Sprintf(`{"custom_id":%q,"method":"POST","url":"/v1/chat/completions","body":{"model":%q,"stream":true}}`, id, model)
	case 2: // a dead letter without an id
		return fmt.Sprintf("this is no JSON %d", i)
	case 3: // of these, whichever is first has the result; the others are dead letters, duplicate or conflict
		if !j.shared {
			j.shared = true
			j.owned++
		}
		return strings.TrimSpace(rig.Chat("shared", "model-0", fmt.Sprintf("opinion %d", r.IntN(2))))
	default:
		j.owned++
		return strings.TrimSpace(rig.Chat(id, model, fmt.Sprintf("question %d", i)))
	}
}

// send publishes messages in their order, with pauses that make them last so long, each until the bus has it or ctx ends.
func send(ctx context.Context, js jetstream.JetStream, job string, messages []seedMessage, lasts time.Duration) error {
	if len(messages) == 0 {
		return nil
	}
	pace := time.NewTicker(max(lasts/time.Duration(len(messages)), time.Millisecond))
	defer pace.Stop()
	for _, m := range messages {
		for {
			message := nats.NewMsg(events.RequestSubject(rig.Queue, job))
			message.Data = []byte(strings.Join(m.lines, "\n"))
			message.Header.Set(jetstream.MsgIDHeader, m.id)
			try, cancel := context.WithTimeout(ctx, time.Second)
			_, err := js.PublishMsg(try, message)
			cancel()
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("publish %s: %w", m.id, err)
			}
			<-pace.C
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
