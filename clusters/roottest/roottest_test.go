package roottest

import (
	"cmp"
	"fmt"
	"os"
	"testing"
)

// ending keeps how a test was ended first: the real one would not go on.
type ending struct {
	testing.TB
	how string
}

func (e *ending) end(how string, args ...any) { e.how = cmp.Or(e.how, how+fmt.Sprint(args...)) }

func (e *ending) Helper()                           {}
func (e *ending) Skip(args ...any)                  { e.end("skipped: ", args...) }
func (e *ending) Fatalf(format string, args ...any) { e.end("failed: ", fmt.Sprintf(format, args...)) }

func TestLack_RootIsRequired_Fails(t *testing.T) {
	for value, want := range map[string]string{
		"":  "skipped: only root may be two",
		"1": "failed: only root may be two, and TRANSPLANT_REQUIRE_ROOT wants the test to run",
	} {
		t.Setenv(required, value)
		e := &ending{}
		if Lack(e, "only root may be two"); e.how != want {
			t.Errorf("with %q: %q, want %q", value, e.how, want)
		}
	}
}

func TestNeed_OfRoot_GoesOn(t *testing.T) {
	want := ""
	if os.Geteuid() != 0 {
		want = "skipped: only root may be two"
	}
	t.Setenv(required, "")
	e := &ending{}
	if Need(e, "be two"); e.how != want {
		t.Errorf("got %q, want %q", e.how, want)
	}
}
