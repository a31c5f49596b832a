package client_test

import (
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func rowsOf(last error, all ...client.Row) iter.Seq2[client.Row, error] {
	return func(yield func(client.Row, error) bool) {
		for _, row := range all {
			line := []byte(string(row.Line))
			row.Line = line
			if !yield(row, nil) {
				return
			}
			clear(line) // the bytes are the caller's again
		}
		if last != nil {
			yield(client.Row{}, last)
		}
	}
}

func TestRowsPublishedTwiceLeaveOneMessageEach(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	c := client.New(f.Store)
	all := []client.Row{{Line: []byte(`{"a":1}`), ID: "1", Number: 7}, {Line: []byte(strings.Repeat("x", 9<<20)), ID: "2"}, {Line: []byte(`{"a":1}`), ID: "3"}}
	for range 2 {
		told := 0
		n, err := c.PublishRows(t.Context(), queue, job, rowsOf(nil, all...), func(rows int) { told = rows })
		if n != 3 || told != 3 || err != nil {
			t.Fatalf("%d, %d told, %v", n, told, err)
		}
	}
	got := requests(t, f)
	if len(got) != 3 || string(got[0].Data) != `{"a":1}` || got[0].Header.Get(events.HeaderFirstLine) != "7" || got[2].Header.Get(events.HeaderFirstLine) != "" {
		t.Fatalf("%d messages, the first %+v", len(got), got[0])
	}
	if object, external := jetstore.ObjectOf(got[1].Header); !external || object.Size != 9<<20 {
		t.Errorf("the big row is %+v", got[1].Header)
	}
	if n, err := c.PublishRows(t.Context(), queue, "other", rowsOf(nil, all[0]), nil); n != 1 || err != nil || len(requests(t, f)) != 4 {
		t.Errorf("the same row in another job: %d, %v, %d messages", n, err, len(requests(t, f)))
	}
}

func TestRowsThatCannotBeReadEndThePublishing(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	broken := errors.New("broken")
	n, err := client.New(f.Store).PublishRows(t.Context(), queue, job, rowsOf(broken, client.Row{Line: []byte("{}"), ID: "1"}), nil)
	if n != 1 || !errors.Is(err, broken) || len(requests(t, f)) != 1 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := client.New(f.Store).PublishRows(t.Context(), queue, "a.b", rowsOf(nil), nil); !errors.Is(err, events.ErrName) {
		t.Errorf("a job that is no name: %v", err)
	}
}
