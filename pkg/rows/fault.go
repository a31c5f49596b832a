package rows

import "strconv"

// Fault says why a row was refused, for the person who sent it. Code is stable and made for programs, Message and Hint
// are made for people and may change. None of them holds content of the body beyond a single character.
//
// CustomID is set, and HasCustomID true, when the row has a usable custom_id: a non-empty string within the limit, the
// only such member of the envelope, and certainly a member of the envelope. It is certain when it stands before the
// fault, or behind it in a line whose quotes and brackets still match.
type Fault struct { //nolint:errname // a verdict first, an error second: a refused row is an outcome
	Code        string // Code is one of the Code constants.
	Message     string // Message is one plain sentence.
	Hint        string // Hint says what to do about it; empty when the message says it all.
	Column      int    // Column is the 1-based byte column in the line, 0 when unknown.
	CustomID    string // CustomID is the decoded id when HasCustomID.
	HasCustomID bool   // HasCustomID reports whether a usable id could still be read.
}

// Error returns code, column and message in one line, without the hint.
func (f *Fault) Error() string {
	if f.Column == 0 {
		return f.Code + ": " + f.Message
	}
	return f.Code + " at column " + strconv.Itoa(f.Column) + ": " + f.Message
}

// newFault builds a fault at a 0-based offset; a negative offset means no place is known.
func newFault(code string, offset int, message, hint string) *Fault {
	return &Fault{Code: code, Message: message, Hint: hint, Column: offset + 1}
}

// withID attaches a usable custom_id and returns f.
func (f *Fault) withID(id string, ok bool) *Fault {
	f.CustomID, f.HasCustomID = id, ok
	return f
}
