package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// frame is one message of the NATS protocol, in either direction.
type frame struct {
	raw     []byte // all of it, as it came
	verb    string // PUB, HPUB, MSG, HMSG; another one has nothing of the rest
	subject string
	reply   string
}

// publish tells whether a client publishes by it.
func (f *frame) publish() bool { return f.verb == "PUB" || f.verb == "HPUB" }

// delivery tells whether a server delivers by it.
func (f *frame) delivery() bool { return f.verb == "MSG" || f.verb == "HMSG" }

// readFrame reads the next one: a line, and behind some lines a payload. io.EOF when the peer ended between two.
func readFrame(r *bufio.Reader) (frame, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return frame{}, err //nolint:wrapcheck // the caller only ends the connection
	}
	f := frame{raw: line}
	size, err := f.parse()
	if err != nil || size < 0 {
		return f, err
	}
	f.raw = make([]byte, len(line)+size+len("\r\n"))
	if _, err := io.ReadFull(r, f.raw[copy(f.raw, line):]); err != nil {
		return f, fmt.Errorf("read payload: %w", err)
	}
	return f, nil
}

// parse reads the line; the size of the payload is -1 when there is none.
func (f *frame) parse() (size int, err error) {
	verb, rest, _ := bytes.Cut(bytes.TrimRight(f.raw, "\r\n"), []byte(" "))
	f.verb = strings.ToUpper(string(verb))
	fixed := map[string]int{"PUB": 2, "HPUB": 3, "MSG": 3, "HMSG": 4}[f.verb] // words without a reply
	if fixed == 0 {
		return -1, nil
	}
	words := strings.Fields(string(rest))
	if len(words) < fixed || len(words) > fixed+1 {
		return 0, fmt.Errorf("parse %s: %d words", f.verb, len(words))
	}
	f.subject = words[0]
	if len(words) > fixed {
		f.reply = words[1]
		if f.delivery() {
			f.reply = words[2]
		}
	}
	if size, err = strconv.Atoi(words[len(words)-1]); err != nil {
		return 0, fmt.Errorf("parse %s: %w", f.verb, err)
	}
	return size, nil
}

// consumer is the durable consumer whose delivery this is, by the subject on which it is acked; empty for anything else.
//
//	$JS.ACK.<stream>.<consumer>.<delivered>.<sequence>.<sequence>.<time>.<pending>
//	$JS.ACK.<domain>.<account>.<stream>.<consumer>.<…>.<token>
func (f *frame) consumer() string {
	words := strings.Split(f.reply, ".")
	switch {
	case !f.delivery() || len(words) < 9 || words[0] != "$JS" || words[1] != "ACK":
		return ""
	case len(words) > 9:
		return words[5]
	default:
		return words[3]
	}
}
