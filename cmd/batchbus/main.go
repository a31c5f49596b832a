// Command batchbus is the tool for people: it runs a file of rows through batchbus on this machine (run), serves any NATS client there (dev),
// and hands jobs to a deployment and looks after them (submit, status, wait, watch, results, seal, cancel, list, forget).
package main

import (
	"context"
	"os"

	"github.com/batchbus/batchbus/internal/app"
)

func main() {
	ctx, stop := app.Signals(context.Background())
	code := execute(ctx, app.OS())
	stop()
	os.Exit(code)
}
