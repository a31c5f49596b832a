// Command submitter is the service that plans batches and submits each once. See package app for its flags.
package main

import (
	"context"
	"os"

	"github.com/batchbus/batchbus/internal/app"
)

func main() {
	ctx, stop := app.Signals(context.Background())
	code := app.Main(ctx, app.OS(), app.Submitter)
	stop()
	os.Exit(code)
}
