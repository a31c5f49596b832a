package contract_test

import "testing"

func TestTheOperationsPageExplainsWhatAnAuditSays(t *testing.T) {
	t.Parallel()
	rows := rowsOf(operations(t))
	said := 0
	for _, c := range constants(t, "../../internal/audit") {
		if c.name == "pathKey" || c.name == "digestKey" {
			continue
		}
		said++
		if rows[c.value] == "" {
			t.Errorf("docs/operations.md does not explain %s, which an audit can say", c.value)
		}
	}
	if said < 25 {
		t.Errorf("only %d words were found: the test looks in the wrong place", said)
	}
}
