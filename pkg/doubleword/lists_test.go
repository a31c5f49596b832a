package doubleword_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// listOf serves ids as pages of size by cursor; heed false ignores the cursor, as the provider does with one it does not know.
func listOf(ids []string, size int, heed bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from := 0
		if after := r.URL.Query().Get("after"); after != "" && heed {
			from = slices.Index(ids, after) + 1
		}
		to := min(len(ids), from+size)
		data := []map[string]any{}
		for _, id := range ids[from:to] {
			data = append(data, map[string]any{"id": id, "filename": "name of " + id})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "has_more": to < len(ids)})
	}
}

func manyIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = strconv.Itoa(i)
	}
	return ids
}

func TestAllPagesAreFollowed(t *testing.T) {
	t.Parallel()
	ids := manyIDs(25)
	for _, size := range []int{1, 7, 24, 25, 100} {
		client := newClient(t, newServer(t, listOf(ids, size, true)), nil)
		var batches, files []string
		for b, err := range client.AllBatches(t.Context(), doubleword.BatchQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			batches = append(batches, b.ID)
		}
		for f, err := range client.AllFiles(t.Context(), doubleword.FileQuery{}) {
			if err != nil || f.Filename != "name of "+f.ID {
				t.Fatal(f, err)
			}
			files = append(files, f.ID)
		}
		if !slices.Equal(batches, ids) || !slices.Equal(files, ids) {
			t.Errorf("size %d: %v, %v", size, batches, files)
		}
	}
}

func TestAListWhoseCursorIsIgnoredEndsWithAnError(t *testing.T) {
	t.Parallel()
	handler, n := counted(listOf(manyIDs(25), 10, false))
	client := newClient(t, newServer(t, handler), nil)
	var got []string
	var last error
	for b, err := range client.AllBatches(t.Context(), doubleword.BatchQuery{}) {
		if last = err; err == nil {
			got = append(got, b.ID)
		}
	}
	if !errors.Is(last, doubleword.ErrPageLoop) || doubleword.ClassOf(last) != doubleword.Retryable || len(got) != 10 || n.Load() != 2 {
		t.Errorf("%d ids, %d requests, error %v", len(got), n.Load(), last)
	}
}

func TestAListThatClaimsMoreBehindNothingIsNotTakenAsWhole(t *testing.T) {
	t.Parallel()
	client := newClient(t, newServer(t, answer(200, "", `{"data":[],"has_more":true}`)), nil)
	for _, err := range client.AllFiles(t.Context(), doubleword.FileQuery{}) {
		if !errors.Is(err, doubleword.ErrPageLoop) {
			t.Errorf("error = %v", err)
		}
		return
	}
	t.Error("the list ended silently")
}

func TestSomethingThatIsNoListIsNotAnEmptyList(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{}`, `{"data":null}`, `{"error":{"message":"x"}}`, `{"data":[{"id":""}]}`, `{"data":{}}`} {
		client := newClient(t, newServer(t, answer(200, "", body)), nil)
		if page, err := client.Batches(t.Context(), doubleword.BatchQuery{}); !errors.Is(err, doubleword.ErrBadAnswer) {
			t.Errorf("%s: %+v, %v", body, page, err)
		}
	}
}

func TestAListStopsWhenTheCallerDoes(t *testing.T) {
	t.Parallel()
	handler, n := counted(listOf(manyIDs(25), 10, true))
	client := newClient(t, newServer(t, handler), nil)
	for range client.AllBatches(t.Context(), doubleword.BatchQuery{}) {
		break
	}
	if n.Load() != 1 {
		t.Errorf("%d requests", n.Load())
	}
}

func TestQueriesAreSent(t *testing.T) {
	t.Parallel()
	queries := make(chan string, 4)
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		queries <- r.URL.Path + "?" + r.URL.RawQuery
		answer(200, "", `{"data":[{"id":"x","owned_by":"o","created":7}],"last_id":"given"}`)(w, r)
	})
	client := newClient(t, server, nil)
	files, err := client.Files(t.Context(), doubleword.FileQuery{Search: "a b", Purpose: "batch", After: "c", Limit: 5})
	if err != nil || files.Last != "given" {
		t.Errorf("%+v, %v", files, err)
	}
	if _, err := client.Batches(t.Context(), doubleword.BatchQuery{Search: "s", After: "c", Limit: 101}); err != nil {
		t.Error(err)
	}
	models, err := client.Models(t.Context())
	if err != nil || len(models) != 1 || models[0].ID != "x" || models[0].OwnedBy != "o" || models[0].CreatedAt.Unix() != 7 {
		t.Errorf("%+v, %v", models, err)
	}
	for _, want := range []string{"/v1/files?after=c&limit=5&purpose=batch&search=a+b", "/v1/batches?after=c&limit=101&search=s", "/v1/models?"} {
		if got := <-queries; got != want {
			t.Errorf("query %s, want %s", got, want)
		}
	}
}

func TestDeleteFileTellsItsOwnDeleteFromAnAbsentFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status  int
		body    string
		deleted bool
		failed  bool
	}{
		{200, `{"id":"f","object":"file","deleted":true}`, true, false},
		{200, `{"id":"f","deleted":false}`, false, false},
		{200, `{}`, false, false},
		{404, "File not found", false, false},
		{500, "Internal server error", false, true},
		{200, "<html>", false, true},
	} {
		server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodDelete || r.URL.Path != "/v1/files/f" {
				t.Errorf("%s %s", r.Method, r.URL.Path)
			}
			answer(c.status, "", c.body)(w, r)
		})
		deleted, err := newClient(t, server, nil).DeleteFile(t.Context(), "f")
		if deleted != c.deleted || (err != nil) != c.failed {
			t.Errorf("%d %s: %v, %v", c.status, c.body, deleted, err)
		}
	}
}

func TestAListOfEverNewEntriesEndsWithAnError(t *testing.T) {
	t.Parallel()
	next := 0
	client := newClient(t, newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		next++
		answer(200, "", `{"data":[{"id":"b`+strconv.Itoa(next)+`"}],"has_more":true}`)(w, nil)
	}), nil)
	var last error
	for _, err := range client.AllBatches(t.Context(), doubleword.BatchQuery{MaxPages: 3}) {
		last = err
	}
	if !errors.Is(last, doubleword.ErrEndless) || doubleword.ClassOf(last) != doubleword.Retryable || next != 3 {
		t.Errorf("after %d pages: %v", next, last)
	}
	next = 0
	for _, err := range client.AllFiles(t.Context(), doubleword.FileQuery{}) {
		last = err
	}
	if !errors.Is(last, doubleword.ErrEndless) || next != doubleword.DefaultMaxPages {
		t.Errorf("files: after %d pages: %v", next, last)
	}
}
