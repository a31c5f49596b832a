package api

import "testing"

func TestAHeaderOfAnErrorIsOneLineOfPrintableCharacters(t *testing.T) {
	t.Parallel()
	if got, want := headerText("no \x1b[31mé\r\nX\u202e\u009b."), "no  [31mé  X  ."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
