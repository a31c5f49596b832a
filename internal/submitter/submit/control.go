package submit

import (
	"fmt"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

// controlBody is the plainest body that the provider's upload takes for a url, as far as the contract knows it; empty for other urls.
func controlBody(url string) string {
	switch url {
	case "/v1/chat/completions", "/v1/messages":
		return `{"messages":[{"role":"user","content":"ping"}],"max_tokens":16}`
	case "/v1/responses":
		return `{"input":"ping","max_output_tokens":16}`
	case "/v1/completions":
		return `{"prompt":"ping","max_tokens":16}`
	case "/v1/embeddings":
		return `{"input":"ping"}`
	}
	return ""
}

// controlLine is a line with nothing in it that the provider could mind but its url and model; ok is false for a url of a queue's own.
func controlLine(group events.GroupKey) (line []byte, ok bool) {
	body, err := rows.SpliceModel([]byte(controlBody(group.URL)), group.Model)
	if err != nil {
		return nil, false
	}
	row := rows.Row{URL: group.URL, Body: body}
	return rows.AppendLine(nil, rows.WireID(0, "control"), row.AppendTail(nil)), true
}

// onlyRow is [findRow] for a file of one row, where no other row could be taken: control uploads a plain row of the same url and model in its
// stead. It returns the refusal of the row, which came before and after the control was taken. Errors: errNoneTaken when the control is
// refused too, which tells of the account, the url or the model; errAllTaken when the row is taken now; or a failure of another kind.
func onlyRow(control, row func() error) (refusal, err error) {
	err = control()
	if _, named := doubleword.LineOf(err); named || namesNothing(err) {
		return nil, errNoneTaken
	}
	if err != nil {
		return nil, fmt.Errorf("upload control row: %w", err)
	}
	switch err := row(); {
	case err == nil:
		return nil, errAllTaken
	case namesNothing(err):
		return err, nil
	default:
		return nil, err
	}
}
