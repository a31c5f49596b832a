package jetstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Message is one stored message.
type Message struct {
	Subject  string
	Header   nats.Header
	Data     []byte
	Sequence uint64
	At       time.Time // when the stream stored it
}

// First is the oldest message on the subject, which may have wildcards, by the word of the stream's leader: what it
// returns was there and what it does not know is not there. [ErrNotFound] when there is none. It needs the whole message
// in memory.
func (s *Store) First(ctx context.Context, stream, subject string) (Message, error) {
	return s.Next(ctx, stream, subject, 1)
}

// Next is the oldest message on the subject whose sequence is at least from, by the word of the stream's leader; see [Store.First].
func (s *Store) Next(ctx context.Context, stream, subject string, from uint64) (Message, error) {
	return s.ask(ctx, stream, leaderQuery{Seq: max(from, 1), NextFor: subject})
}

// Last is the newest message on the subject, by the word of the stream's leader; see [Store.First].
func (s *Store) Last(ctx context.Context, stream, subject string) (Message, error) {
	return s.ask(ctx, stream, leaderQuery{LastFor: subject})
}

// At is the message with the sequence, by the word of the stream's leader. [ErrNotFound] when it is gone or was never
// there.
func (s *Store) At(ctx context.Context, stream string, seq uint64) (Message, error) {
	if seq == 0 { // which the server would take for "no question"
		return Message{}, fmt.Errorf("get %s 0: %w", stream, ErrNotFound)
	}
	return s.ask(ctx, stream, leaderQuery{Seq: seq})
}

// leaderQuery is the request of $JS.API.STREAM.MSG.GET. Unlike the direct get, which any replica answers and nats.go
// prefers where a stream allows it, the leader alone answers it.
type leaderQuery struct {
	Seq     uint64 `json:"seq,omitempty"`
	NextFor string `json:"next_by_subj,omitempty"`
	LastFor string `json:"last_by_subj,omitempty"`
}

type leaderReply struct {
	Error   *jetstream.APIError `json:"error"`
	Message *struct {
		Subject  string    `json:"subject"`
		Sequence uint64    `json:"seq"`
		Header   []byte    `json:"hdrs"`
		Data     []byte    `json:"data"`
		Time     time.Time `json:"time"`
	} `json:"message"`
}

// codeNoMessage is the server's "no message found".
const codeNoMessage jetstream.ErrorCode = 10037

// ask repeats the question while the stream has no leader, until ctx ends.
func (s *Store) ask(ctx context.Context, stream string, q leaderQuery) (Message, error) {
	for pause := newPause(); ; {
		m, err := s.askOnce(ctx, stream, q)
		if err == nil || errors.Is(err, ErrNotFound) || Classify(err) != Again {
			return m, err
		}
		if pause.wait(ctx) != nil {
			return Message{}, err
		}
	}
}

func (s *Store) askOnce(ctx context.Context, stream string, q leaderQuery) (Message, error) {
	request, err := json.Marshal(q)
	if err != nil {
		return Message{}, fmt.Errorf("encode query: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	response, err := s.nc.RequestWithContext(ctx, s.api("STREAM.MSG.GET."+stream), request)
	if err != nil {
		return Message{}, fmt.Errorf("get message of %s: %w", stream, err)
	}
	var reply leaderReply
	if err := json.Unmarshal(response.Data, &reply); err != nil {
		return Message{}, fmt.Errorf("decode message of %s: %w", stream, err)
	}
	switch {
	case reply.Error != nil && reply.Error.ErrorCode == codeNoMessage:
		return Message{}, fmt.Errorf("get message of %s: %w", stream, ErrNotFound)
	case reply.Error != nil:
		return Message{}, fmt.Errorf("get message of %s: %w", stream, reply.Error)
	case reply.Message == nil:
		return Message{}, fmt.Errorf("get message of %s: %w", stream, nats.ErrTimeout)
	}
	return reply.message()
}

func (r leaderReply) message() (Message, error) {
	m := Message{Subject: r.Message.Subject, Sequence: r.Message.Sequence, Data: r.Message.Data, At: r.Message.Time}
	if len(r.Message.Header) == 0 {
		return m, nil
	}
	header, err := nats.DecodeHeadersMsg(r.Message.Header)
	if err != nil {
		return Message{}, fmt.Errorf("decode headers: %w", err)
	}
	m.Header = header
	return m, nil
}

// api is a subject of the JetStream API under the context's prefix or domain.
func (s *Store) api(subject string) string {
	o := s.js.Options()
	switch {
	case o.APIPrefix != "":
		return o.APIPrefix + subject
	case o.Domain != "":
		return "$JS." + o.Domain + ".API." + subject
	default:
		return "$JS.API." + subject
	}
}
