package jetstore_test

import (
	"testing"

	"github.com/batchbus/batchbus/internal/natsd"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

func TestSizesOfExistingStreamsGrowWhenTheSettingsSaySoAndNeverShrink(t *testing.T) {
	t.Parallel()
	server, err := natsd.Start(t.Context(), natsd.Options{Dir: t.TempDir(), MaxStore: 8 * gib})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	nc, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	s, err := jetstore.Open(nc)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ store, want int64 }{
		{1 * gib, 1 * gib / 100 * 30}, {5 * gib, 5 * gib / 100 * 30}, {2 * gib, 5 * gib / 100 * 30},
	} {
		settings := jetstore.Settings{MaxStore: c.store, KeepSizes: true, GrowSizes: true}
		if err := jetstore.Setup(t.Context(), s.JetStream(), settings); err != nil {
			t.Fatal(err)
		}
		if got := streamConfig(t, s.JetStream(), jetstore.StreamRows).MaxBytes; got != c.want {
			t.Errorf("with a store of %d the limit is %d, want %d", c.store, got, c.want)
		}
	}
}
