package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// MissingRightsError is returned when the bus does not let a service do what it has to.
type MissingRightsError struct {
	Service string
	Rights  []Right
}

// Error names every missing permission, one a line.
func (e *MissingRightsError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap are the missing permissions, each as a fault of its own.
func (e *MissingRightsError) Unwrap() []error {
	faults := make([]error, len(e.Rights))
	for i, r := range e.Rights {
		faults[i] = fmt.Errorf("missing permission of %s: %s", e.Service, r)
	}
	return faults
}

const (
	userInfoSubject = "$SYS.REQ.USER.INFO"
	userInfoTimeout = 3 * time.Second
)

// permissions are what the server says of its user; nil for one who may do everything.
type permissions struct {
	Publish   subjects `json:"publish"`
	Subscribe subjects `json:"subscribe"`
}

type subjects struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

// checkRights asks the server what this connection's user may do and returns a [*MissingRightsError] when that is too little. It publishes
// nothing that anybody could take for a row. A server that does not say, or may not be asked, is no error: what is missing shows later.
func checkRights(ctx context.Context, nc *nats.Conn, service string, needed []Right, log *zerolog.Logger) error {
	granted, err := askRights(ctx, nc)
	if err != nil {
		log.Warn().Err(err).Str("service", service).Msg("permissions are not checked: the bus does not tell them")
		return nil
	}
	if missing := missingRights(granted, inInbox(needed, nc.Opts.InboxPrefix)); len(missing) > 0 {
		return &MissingRightsError{Service: service, Rights: missing}
	}
	return nil
}

// inInbox puts the connection's own prefix of reply subjects in place of the usual one, where it has its own.
func inInbox(needed []Right, prefix string) []Right {
	if prefix == "" {
		return needed
	}
	own := slices.Clone(needed)
	for i, r := range own {
		if r == (Right{Subscribe, "_INBOX.>"}) {
			own[i].Subject = prefix + ".>"
		}
	}
	return own
}

func askRights(ctx context.Context, nc *nats.Conn) (*permissions, error) {
	ctx, cancel := context.WithTimeout(ctx, userInfoTimeout)
	defer cancel()
	reply, err := nc.RequestWithContext(ctx, userInfoSubject, nil)
	if err != nil {
		return nil, fmt.Errorf("ask for permissions: %w", err)
	}
	var answer struct {
		Data *struct {
			Permissions *permissions `json:"permissions"`
		} `json:"data"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return nil, fmt.Errorf("read permissions: %w", err)
	}
	if answer.Data == nil {
		return nil, errors.New("read permissions: there is nothing about the user")
	}
	return answer.Data.Permissions, nil
}

// missingRights is what of the needed rights is not granted. It is pure. Rights that only several permissions together cover count as missing.
func missingRights(granted *permissions, needed []Right) (missing []Right) {
	if granted == nil {
		return nil
	}
	for _, r := range needed {
		list := granted.Publish
		if r.Verb == Subscribe {
			list = granted.Subscribe
		}
		if !list.permit(r.Subject) {
			missing = append(missing, r)
		}
	}
	return missing
}

// permit tells whether all of a subject, which may have wildcards, is allowed and none of it is denied. No allow list allows everything.
func (s subjects) permit(subject string) bool {
	for _, denied := range s.Deny {
		if overlaps(denied, subject) {
			return false
		}
	}
	for _, allowed := range s.Allow {
		if covers(allowed, subject) {
			return true
		}
	}
	return len(s.Allow) == 0
}

// covers tells whether every subject that inner stands for is one that outer stands for.
func covers(outer, inner string) bool {
	o, i := strings.Split(outer, "."), strings.Split(inner, ".")
	for n, token := range o {
		switch {
		case token == ">":
			return len(i) > n
		case n >= len(i) || i[n] == ">":
			return false
		case token != "*" && token != i[n]:
			return false
		}
	}
	return len(o) == len(i)
}

// overlaps tells whether there is a subject that both stand for.
func overlaps(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for n := range min(len(x), len(y)) {
		if x[n] == ">" || y[n] == ">" {
			return true
		}
		if x[n] != "*" && y[n] != "*" && x[n] != y[n] {
			return false
		}
	}
	return len(x) == len(y)
}
