package submit_test

import (
	"context"
	"io"
	"iter"
	"sync"

	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
)

// hooked is a provider with something done around its calls. Hooks may be nil; one that returns an error replaces the call, or its answer.
// nth counts the provider's calls from 1.
type hooked struct {
	submit.Provider
	before, after func(call string, nth int) error

	mu  sync.Mutex
	nth int
}

func (h *hooked) around(call string, do func()) error {
	h.mu.Lock()
	h.nth++
	nth := h.nth
	h.mu.Unlock()
	if h.before != nil {
		if err := h.before(call, nth); err != nil {
			return err
		}
	}
	do()
	if h.after != nil {
		return h.after(call, nth)
	}
	return nil
}

func (h *hooked) UploadFile(ctx context.Context, name string, write func(io.Writer) error) (f doubleword.File, err error) {
	if hook := h.around("upload", func() { f, err = h.Provider.UploadFile(ctx, name, write) }); hook != nil {
		return doubleword.File{}, hook
	}
	return f, err
}

func (h *hooked) DeleteFile(ctx context.Context, id string) (deleted bool, err error) {
	if hook := h.around("delete", func() { deleted, err = h.Provider.DeleteFile(ctx, id) }); hook != nil {
		return false, hook
	}
	return deleted, err
}

func (h *hooked) CreateBatch(ctx context.Context, b doubleword.NewBatch) (remote doubleword.Batch, err error) {
	if hook := h.around("create", func() { remote, err = h.Provider.CreateBatch(ctx, b) }); hook != nil {
		return doubleword.Batch{}, hook
	}
	return remote, err
}

func (h *hooked) CancelBatch(ctx context.Context, id string) (remote doubleword.Batch, err error) {
	if hook := h.around("cancel", func() { remote, err = h.Provider.CancelBatch(ctx, id) }); hook != nil {
		return doubleword.Batch{}, hook
	}
	return remote, err
}

// AllBatches has the whole list before its after hook runs: a list that is old by the time it is read.
func (h *hooked) AllBatches(ctx context.Context, q doubleword.BatchQuery) iter.Seq2[doubleword.Batch, error] {
	return func(yield func(doubleword.Batch, error) bool) {
		var listed []doubleword.Batch
		var failed error
		hook := h.around("list", func() {
			for remote, err := range h.Provider.AllBatches(ctx, q) {
				listed, failed = append(listed, remote), err
			}
		})
		if hook != nil {
			failed = hook
		}
		if failed != nil {
			yield(doubleword.Batch{}, failed)
			return
		}
		for _, remote := range listed {
			if !yield(remote, nil) {
				return
			}
		}
	}
}
