//go:build unix

package rig_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/test/rig"
)

func TestAProcessThatKillsItselfIsToldFromOneThatWasKilled(t *testing.T) {
	t.Parallel()
	itself := rig.Launch(t, "/bin/sh", nil, "-c", "kill -9 $$")
	if end := itself.End(); !end.KilledItself() {
		t.Errorf("it is said to have %s", end)
	}
	killed := rig.Launch(t, "/bin/sh", nil, "-c", "sleep 60")
	killed.Kill()
	if end := killed.End(); end.KilledItself() || !end.Ours {
		t.Errorf("it is said to have %s", end)
	}
	crashed := rig.Launch(t, "/bin/sh", nil, "-c", "exit 97")
	if end := crashed.End(); end.KilledItself() || end.Ours || end.Code != 97 {
		t.Errorf("it is said to have %s", end)
	}
}

func TestALifeHasItsOwnEnvironmentAndItsEndIsRemembered(t *testing.T) {
	t.Parallel()
	p := rig.Launch(t, "/bin/sh", []string{"ALWAYS=yes"}, "-c", "echo $ALWAYS $ONCE; exit 3")
	p.End()
	p.Start("ONCE=now")
	p.End()
	p.Start()
	p.End()
	if got, want := p.Output(), "yes\nyes now\nyes\n"; got != want {
		t.Errorf("it printed %q, want %q", got, want)
	}
	if ends := p.Ends(); len(ends) != 3 || ends[2].Code != 3 {
		t.Errorf("its lives ended as %v", ends)
	}
}

func TestAPausedProcessStandsStillUntilItIsResumed(t *testing.T) {
	t.Parallel()
	p := rig.Launch(t, "/bin/sh", nil, "-c", "while true; do echo here; sleep 0.01; done")
	said := func() int { return strings.Count(p.Output(), "here") }
	rig.Eventually(t, "it runs", func() bool { return said() > 0 })
	p.Pause()
	if runtime.GOOS == "linux" {
		rig.Eventually(t, "it stands still", p.Paused)
	}
	before := said()
	if rig.Within(200*time.Millisecond, func() bool { return said() > before+1 }) {
		t.Error("it goes on while it is paused")
	}
	p.Resume()
	rig.Eventually(t, "it goes on", func() bool { return said() > before+1 })
}
