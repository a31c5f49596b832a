// Command ingest is the service that judges rows and packs them into blocks. See package app for its flags.
package main

import (
	"context"
	"os"

	"github.com/batchbus/batchbus/internal/app"
)

func main() {
	ctx, stop := app.Signals(context.Background())
	code := app.Main(ctx, app.OS(), app.Ingest)
	stop()
	os.Exit(code)
}
