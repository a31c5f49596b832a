package doubleword_test

import (
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

func TestImpossibleCountsAreNoCounts(t *testing.T) {
	t.Parallel()
	for counts, possible := range map[string]bool{
		`{"total":5,"completed":4,"failed":1}`: true,
		`null`:                                 true,
		`{"total":-5,"completed":-1,"failed":-1}`:                    false,
		`{"total":5,"completed":5,"failed":-1}`:                      false,
		`{"total":-5,"completed":-1,"failed":9223372036854775807}`:   false,
		`{"total":10000000000000000000000000,"completed":1.5e300}`:   false,
		`{"total":"10000000000000000000000000","completed":1.5e300}`: false,
	} {
		client := newClient(t, newServer(t, answer(200, "", `{"id":"b","status":"completed","request_counts":`+counts+`}`)), nil)
		b, err := client.Batch(t.Context(), "b")
		if err != nil || b.CountsImpossible == possible {
			t.Errorf("%s: %+v, %v", counts, b, err)
		}
		if !possible && (b.Counts != (doubleword.Counts{}) || !b.Terminal() || !b.Adoptable()) {
			t.Errorf("%s: %+v, terminal %v, adoptable %v", counts, b.Counts, b.Terminal(), b.Adoptable())
		}
	}
}
