package doubleword_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// A time that no JSON can hold would end the process that writes down a batch which is paid already.
func TestATimeThatCannotBeWrittenIsNone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{
		`253402300799`:                  time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		`253402300800`:                  {},
		`1703187200000`:                 {}, // milliseconds
		`253402300799000`:               {},
		`9e300`:                         {},
		`"9223372036854775807"`:         {},
		`"9999-12-31T23:59:59-23:00"`:   {},
		`"0000-01-01T00:00:00Z"`:        {},
		`"0001-01-01T00:00:00+23:00"`:   {},
		`"2026-12-01T02:00:00.5+02:00"`: time.Date(2026, 12, 1, 0, 0, 0, 5e8, time.UTC),
		`-1`:                            {},
		`{"seconds":1}`:                 {},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"id":"b","object":"batch","status":"in_progress","created_at":` + text + `,"expires_at":` + text + `}`))
		}))
		client, err := doubleword.New(doubleword.Config{BaseURL: server.URL + "/v1", Key: doubleword.NewSecret("k")})
		if err != nil {
			t.Fatal(err)
		}
		b, err := client.Batch(t.Context(), "b")
		if err != nil || !b.ExpiresAt.Equal(want) || !b.CreatedAt.Equal(want) {
			t.Errorf("%s is %s and %s, want %s: %v", text, b.CreatedAt, b.ExpiresAt, want, err)
		}
		if _, err := json.Marshal(b.ExpiresAt); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		client.CloseIdleConnections()
		server.Close()
	}
}
