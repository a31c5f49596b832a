package app

import (
	"context"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/pkg/jetstore"
)

// growRights is what the user needs beside them that raises the sizes of streams.
func growRights(s jetstore.Settings) []Right {
	if !s.GrowSizes {
		return nil
	}
	return publish("$JS.API.STREAM.UPDATE.>")
}

// SetupRights is what the user needs that makes the topology.
func SetupRights() []Right {
	return append(publish(
		userInfoSubject, "$JS.API.STREAM.INFO.>", "$JS.API.CONSUMER.INFO.>", "$JS.API.STREAM.CREATE.>", "$JS.API.CONSUMER.CREATE.>",
	), Right{Subscribe, "_INBOX.>"})
}

// Setup makes what is missing of the topology on the bus, so that services need no rights to do it. It is idempotent. The error is every fault
// of the connection's settings, a [*MissingRightsError], or a [*jetstore.DriftError] about what is there and differs: that is left as it is,
// but for sizes when the settings let them grow.
func Setup(ctx context.Context, f *ConnectionFlags, s jetstore.Settings, log *zerolog.Logger) error {
	if err := f.Check(); err != nil {
		return err
	}
	nc, err := f.Dial("batchbus-setup")
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := checkRights(ctx, nc, "setup", append(SetupRights(), growRights(s)...), log); err != nil {
		return err
	}
	bus, err := jetstore.Open(nc)
	if err != nil {
		return err
	}
	return jetstore.Setup(ctx, bus.JetStream(), s)
}
