// Command poller is the service that follows the batches that the provider runs. See package app for its flags.
package main

import (
	"context"
	"os"

	"github.com/batchbus/batchbus/internal/app"
)

func main() {
	ctx, stop := app.Signals(context.Background())
	code := app.Main(ctx, app.OS(), app.Poller)
	stop()
	os.Exit(code)
}
