package app_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

func TestASetupThatMayGrowRaisesLimitsAndLowersNone(t *testing.T) {
	t.Parallel()
	f := &app.ConnectionFlags{NATS: bus(t, server.Options{JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: 8 << 30})}
	log := zerolog.Nop()
	setup := func(size int64, grow bool) error {
		return app.Setup(t.Context(), f, jetstore.Settings{MaxStore: size, GrowSizes: grow}, &log)
	}
	rows := func() int64 {
		b, err := app.OpenBus("test", f.Dial)
		ok(t, err)
		defer b.Close()
		_, limit, err := b.Store.Size(t.Context(), jetstore.StreamRows)
		ok(t, err)
		return limit
	}
	ok(t, setup(1<<30, false))
	small := rows()
	if err := setup(2<<30, false); err == nil || rows() != small {
		t.Errorf("without leave to grow: %v, limit %d and then %d", err, small, rows())
	}
	ok(t, setup(2<<30, true))
	large := rows()
	if large != (2<<30)/100*30 {
		t.Errorf("the limit is %d", large)
	}
	if err := setup(1<<30, true); err == nil || rows() != large {
		t.Errorf("asked for less: %v, limit %d", err, rows())
	}
}
