package embedded_test

import (
	"testing"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded"
)

func TestUp(t *testing.T) {
	for range 3 {
		began := time.Now()
		l, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir() + "/l", WithoutNodes: true,
			Progress: func(p embedded.Progress) { t.Logf("%s %+v", time.Since(began).Round(time.Millisecond), p) }})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("up %s", time.Since(began))
		began = time.Now()
		if err := l.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("down %s", time.Since(began))
	}
}
