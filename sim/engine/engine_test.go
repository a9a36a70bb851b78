package engine

import (
	"testing"
	"time"
)

func TestPatienceStretched(t *testing.T) {
	t.Parallel()
	var usual Patience
	usual.fill()
	got := Patience{Finale: time.Second}.Stretched(2.5)
	want := usual
	want.SetUp, want.Finale, want.Changing = usual.SetUp*5/2, 2500*time.Millisecond, usual.Changing*5/2
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := (Patience{}).Stretched(0.5); got != usual {
		t.Errorf("a fast machine gets less than usual: %+v", got)
	}
}
