package ingest

import "github.com/batchbus/batchbus/internal/block"

const (
	// maxSpare bounds the sheets that are kept for reuse; each keeps the memory of a block.
	maxSpare = 8
	// blockHead is more than a block holds beside its entries.
	blockHead = 16
	// usualBlock is how full a block of several rows gets, where the bus would take more. A NATS server keeps the buffers of the messages
	// it sends for reuse, whatever size they grew to: with blocks of 4 MiB, 120,000 rows of 1 KB took 900 MB of an embedded server's memory
	// and twice the time, with these 200 MB (measured).
	usualBlock = 256 << 10
)

// sheet is one block in the making, or under way to the bus: its rows, and the messages they came in.
type sheet struct {
	subject string
	builder block.Builder
	from    []*message
	rows    int
}

// packer sorts the rows of a fetch into blocks, one open block a job. It knows no bus, and is not safe for concurrent use.
type packer struct {
	limit int // the most bytes of a block; only one of a single big row comes near it
	open  map[string]*sheet
	order []*sheet // the open ones, oldest first, so that what is stored does not depend on the order of a map
	spare []*sheet
}

func newPacker() *packer { return &packer{open: make(map[string]*sheet)} }

// fits reports whether a block can hold e; if not, e goes through the object store.
func (p *packer) fits(e *block.Entry) bool { return blockHead+block.Room(e) <= p.limit }

// add puts e, which fits, into the open block of its subject. It returns the block that had to be closed for that, if any.
func (p *packer) add(subject string, e *block.Entry, m *message) (full *sheet) {
	s := p.open[subject]
	if s != nil && s.builder.Size()+block.Room(e) > min(p.limit, usualBlock) {
		full = s
		p.close(s)
		s = nil
	}
	if s == nil {
		s = p.start(subject)
	}
	s.add(e)
	s.hold(m)
	return full
}

func (s *sheet) add(e *block.Entry) {
	s.builder.Add(e)
	s.rows++
}

// hold notes that a row of m is in s. m cannot be acked before s is stored.
func (s *sheet) hold(m *message) {
	if n := len(s.from); n > 0 && s.from[n-1] == m {
		return
	}
	s.from = append(s.from, m)
	m.pending++
}

func (p *packer) start(subject string) *sheet {
	s := p.blank(subject)
	p.open[subject] = s
	p.order = append(p.order, s)
	return s
}

// blank returns an empty sheet that is not open.
func (p *packer) blank(subject string) *sheet {
	if n := len(p.spare); n > 0 {
		s := p.spare[n-1]
		p.spare = p.spare[:n-1]
		s.subject = subject
		return s
	}
	return &sheet{subject: subject}
}

func (p *packer) close(s *sheet) {
	delete(p.open, s.subject)
	for i, other := range p.order {
		if other == s {
			p.order = append(p.order[:i], p.order[i+1:]...)
			return
		}
	}
}

// drain closes every open block, oldest first.
func (p *packer) drain() []*sheet {
	closed := p.order
	p.order = nil
	clear(p.open)
	return closed
}

// recycle takes a sheet back whose block nobody reads any more. The memory of an outsized one is let go.
func (p *packer) recycle(s *sheet) {
	if len(p.spare) == maxSpare || s.builder.Size() > p.limit {
		return
	}
	clear(s.from)
	s.from = s.from[:0]
	s.builder.Reset()
	s.rows = 0
	p.spare = append(p.spare, s)
}
