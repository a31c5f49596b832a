package doubleword_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

func TestAnEncodedAnswerIsAnErrorThatNamesTheEncoding(t *testing.T) {
	t.Parallel()
	for encoding, refused := range map[string]bool{"gzip": true, "BR": true, "identity": false, "": false} {
		handler, calls := counted(func(w http.ResponseWriter, r *http.Request) {
			if encoding != "" {
				w.Header().Set("Content-Encoding", encoding)
			}
			answer(200, "", `{"id":"b","status":"completed"}`)(w, r)
		})
		client := newClient(t, newServer(t, handler), func(c *doubleword.Config) { c.RetryTimeout = time.Minute })
		content, contentErr := client.Content(t.Context(), "f", doubleword.ContentQuery{})
		if contentErr == nil {
			_ = content.Body.Close()
		}
		_, readErr := client.Batch(t.Context(), "b")
		_, createErr := client.CreateBatch(t.Context(), doubleword.NewBatch{})
		for call, err := range map[string]error{"content": contentErr, "read": readErr, "create": createErr} {
			if (err != nil) != refused || refused && (!errors.Is(err, doubleword.ErrEncoded) || !strings.Contains(err.Error(), encoding)) {
				t.Errorf("%s of %q: %v", call, encoding, err)
			}
		}
		if calls.Load() != 3 {
			t.Errorf("%q: %d requests of three calls", encoding, calls.Load())
		}
		if refused && (doubleword.ClassOf(contentErr) != doubleword.Retryable || doubleword.ClassOf(createErr) != doubleword.Ambiguous) {
			t.Errorf("classes of %q: %s, %s", encoding, doubleword.ClassOf(contentErr), doubleword.ClassOf(createErr))
		}
	}
}
