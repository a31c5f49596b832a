package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

// answer is what the ledger wants to know of a result.
type answer struct {
	token, source string         // of the subject, and of the header
	header        events.Outcome // the header's
	body          answerBody
}

// answerBody are the fields of a result that are counted.
type answerBody struct {
	CustomID  string         `json:"custom_id"`
	Outcome   events.Outcome `json:"outcome"`
	Truncated bool           `json:"truncated"`
	Usage     *events.Usage  `json:"usage"`
	Cost      *events.Cost   `json:"cost"`
}

// result takes a result of the stream.
func (l *ledger) result(a *answer) {
	l.report.Results.CountResult(&events.Result{
		Outcome: a.body.Outcome, Truncated: a.body.Truncated, Usage: a.body.Usage, Cost: a.body.Cost,
	})
	row := Problem{CustomID: a.body.CustomID}
	if a.header != a.body.Outcome || events.RowToken(a.body.CustomID) != a.token {
		row.Code = WrongOutcome
		l.report.problem(row, "the result on %s with outcome %s holds another custom_id or outcome %s", a.token, a.header, a.body.Outcome)
	}
	if l.report.Basis != ByRows {
		return
	}
	i, owned := l.byID[idOf(a.token)]
	if !owned {
		l.stranger(a)
		return
	}
	o := &l.owners[i]
	row.Place = o.place()
	switch {
	case o.source.String() != a.source:
		row.Code = ForeignSource
		l.report.problem(row, "the result answers input %s, and the row is input %s", a.source, o.source)
	case o.answered:
		row.Code = DoubleResult
		l.report.problem(row, "the row has a second result")
	case o.refused && a.body.Outcome != events.Rejected:
		row.Code = WrongOutcome
		l.report.problem(row, "the row was refused before a batch, and its result is %s", a.body.Outcome)
	}
	o.answered, o.revoked = true, a.body.Outcome == events.Cancelled
}

// stranger is a result without a row. While rows may come, one can have come behind the walk, and its result too.
func (l *ledger) stranger(a *answer) {
	if !l.sealed {
		l.strangers++
		return
	}
	l.report.problem(Problem{Code: ForeignResult, CustomID: a.body.CustomID}, "a result of input %s, and the job's rows do not have it", a.source)
}

// idOf is the index's hash of a custom_id, from a row token: the id itself, or "~" and the hex SHA-256 of it.
func idOf(token string) block.Hash {
	if digest, hashed := strings.CutPrefix(token, "~"); hashed {
		sum, err := hex.DecodeString(digest)
		if err != nil || len(sum) != sha256.Size {
			return block.Hash{} // no id's
		}
		return block.Hash(sum[:len(block.Hash{})])
	}
	return rows.HashID(token)
}

// deadLetter takes a dead letter of the stream. One that no row calls for holds input that never became a row.
func (l *ledger) deadLetter(source, code, customID string) {
	l.report.DeadLetters[code]++
	raw, err := hex.DecodeString(source)
	if err != nil || len(raw) != len(block.Hash{}) {
		return
	}
	hash := block.Hash(raw)
	switch wanted, known := l.letters[hash]; {
	case known:
		wanted.present = true
		l.letters[hash] = wanted
	case code == events.DLBadSubject, code == events.DLBadWindow, code == events.DLObjectMissing, code == events.DLObjectDigest:
		l.messages++
	default:
		l.lines++
	}
	i, owned := l.byID[rows.HashID(customID)]
	if customID != "" && owned && l.owners[i].source == hash && l.report.Basis == ByRows {
		l.report.problem(Problem{Code: DoubleEnd, CustomID: customID, Place: l.owners[i].place()}, "the row that owns its custom_id has a dead letter too: %s", code)
	}
}
