package distinct

import (
	"bufio"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// run is a sorted sequence of rows and its next one.
type run struct {
	next entry
	more func() (entry, error) // more ends with io.EOF.
}

// queue is a heap of runs by their next row.
type queue []*run

// Len, Less, Swap, Push and Pop are those of [heap.Interface].
func (q *queue) Len() int           { return len(*q) }
func (q *queue) Less(i, j int) bool { return compare((*q)[i].next, (*q)[j].next) < 0 }
func (q *queue) Swap(i, j int)      { (*q)[i], (*q)[j] = (*q)[j], (*q)[i] }
func (q *queue) Push(x any)         { *q = append(*q, x.(*run)) } //nolint:forcetypeassert // nothing else is pushed
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// advance reads a run's next row; it is false at the end.
func (r *run) advance() (bool, error) {
	e, err := r.more()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	r.next = e
	return err == nil, err
}

// sorted yields all rows in their order.
func (f *Finder) sorted() iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		var q queue
		for _, r := range append(f.stored(), f.inMemory()) {
			more, err := r.advance()
			if err != nil {
				yield(entry{}, err)
				return
			}
			if more {
				heap.Push(&q, r)
			}
		}
		for q.Len() > 0 {
			if !yield(q[0].next, nil) {
				return
			}
			more, err := q[0].advance()
			switch {
			case err != nil:
				yield(entry{}, err)
				return
			case more:
				heap.Fix(&q, 0)
			default:
				heap.Pop(&q)
			}
		}
	}
}

// inMemory is what is held and in no run.
func (f *Finder) inMemory() *run {
	slices.SortFunc(f.held, compare)
	i := 0
	return &run{more: func() (entry, error) {
		if i == len(f.held) {
			return entry{}, io.EOF
		}
		i++
		return f.held[i-1], nil
	}}
}

// stored are the runs in the file.
func (f *Finder) stored() (all []*run) {
	at := int64(0)
	for _, length := range f.runs {
		size := int64(length) * int64(len(entry{}))
		in := bufio.NewReaderSize(io.NewSectionReader(f.file, at, size), 64<<10)
		at += size
		all = append(all, &run{more: func() (e entry, err error) {
			if _, err = io.ReadFull(in, e[:]); err != nil && !errors.Is(err, io.EOF) {
				err = fmt.Errorf("read held ids: %w", err)
			}
			return e, err
		}})
	}
	return all
}
