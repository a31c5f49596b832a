package rowsets

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/batchbus/batchbus/pkg/rows"
)

// MaxLineBytes is the longest line that is read, as everywhere in our tools.
const MaxLineBytes = 64 << 20

// Each reads the rows of r, good or bad, until each returns an error or ctx ends. Blank lines are none. The bytes are valid until each returns.
func Each(ctx context.Context, r io.Reader, each func(rows.Line) error) error {
	reader := rows.NewReader(r, MaxLineBytes)
	for {
		line, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read rows: %w", err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		if err := each(line); err != nil {
			return err
		}
	}
}
