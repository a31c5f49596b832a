// Command batchbus is the tool for people: it runs a file of rows through batchbus on this machine (run) and checks one (validate).
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
