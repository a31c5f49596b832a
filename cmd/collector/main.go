// Command collector is the service that brings answers home. See package app for its flags.
package main

import (
	"context"
	"os"

	"github.com/batchbus/batchbus/internal/app"
)

func main() {
	ctx, stop := app.Signals(context.Background())
	code := app.Main(ctx, app.OS(), app.Collector)
	stop()
	os.Exit(code)
}
