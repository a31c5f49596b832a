package chaos_test

import (
	"slices"
	"testing"

	"github.com/batchbus/batchbus/internal/failpoint"
)

func TestACaseIsNamedSoThatItCanBeRunAlone(t *testing.T) {
	t.Parallel()
	c := crash{"plain", failpoint.Passage{Point: "collector.commit.cursor", Moment: failpoint.After}, 2, 1}
	if back, err := parseCrash(c.String()); err != nil || back != c {
		t.Errorf("%s is read as %+v, %v", c, back, err)
	}
	for _, text := range []string{"", "plain/x/after/1", "plain/x/after/one/1", "plain/x/after/1/two"} {
		if _, err := parseCrash(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// recorded is what a pass of every point of the table looks like: twice each, and a third time in another scenario.
func recorded() map[string]map[failpoint.Passage]int {
	passed := map[string]map[failpoint.Passage]int{"plain": {}, "cut": {}, "kept": {}}
	for _, e := range failpoint.Table() {
		for _, moment := range failpoint.Moments() {
			p := failpoint.Passage{Point: e.Point, Moment: moment}
			passed["plain"][p], passed["cut"][p] = 2, 9
		}
	}
	passed["kept"][failpoint.Passage{Point: "keeper.purge.rows", Moment: failpoint.After}] = 1
	return passed
}

func TestTheMatrixIsEveryMomentOfEveryPointUpToItsThirdPassageInBothShapes(t *testing.T) {
	t.Parallel()
	cases := crashes(scenarios(), recorded())
	if want := len(failpoint.Table())*2*3*2 - 4; len(cases) != want { // keeper.purge.rows has a scenario made for it, which passes once
		t.Errorf("%d cases, want %d", len(cases), want)
	}
	for _, c := range cases {
		if made := c.Point == "keeper.purge.rows" && c.Moment == failpoint.After; made != (c.scenario == "kept") {
			t.Errorf("%s is tried in %s", c, c.scenario)
		}
	}
}

func TestTheGateRunsACaseOfEachPointAndAllAroundThePaidCreate(t *testing.T) {
	t.Parallel()
	chosen := subset(crashes(scenarios(), recorded()))
	points := map[failpoint.Point]int{}
	for _, c := range chosen {
		points[c.Point]++
	}
	if len(points) != len(failpoint.Table()) || len(chosen) != len(points)+6 {
		t.Errorf("%d cases of %d points; the table has %d", len(chosen), len(points), len(failpoint.Table()))
	}
	if points["submitter.call.create_batch"] != 4 || points["submitter.commit.batch.creating"] != 4 {
		t.Error("the paid create is not tried at both moments in both shapes")
	}
	if again := subset(crashes(scenarios(), recorded())); !slices.Equal(again, chosen) {
		t.Error("the gate runs other cases the second time")
	}
}
