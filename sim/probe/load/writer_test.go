package load_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/transplant-sim/transplant/sim/probe/load"
	"github.com/transplant-sim/transplant/sim/timeline"
)

func TestWriter_NamespaceIsGone_MakesItAgain(t *testing.T) {
	t.Parallel()
	var there atomic.Bool
	connect, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/namespaces"):
			there.Store(true)
			made(w, r)
		case there.Load():
			made(w, r)
		default:
			status(http.StatusNotFound)(w, r)
		}
	})
	j := journal()
	w := &load.Writer{Shoot: "alpha", Actor: "user", Connect: connect, Keys: keys(), PerSecond: 10}
	for range 2 {
		if err := w.Sample(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	var outcomes []timeline.Outcome
	for _, write := range timeline.Of[timeline.Write](j.Events()) {
		outcomes = append(outcomes, write.Outcome)
	}
	if len(outcomes) != 2 || outcomes[0] != timeline.Failed || outcomes[1] != timeline.Acknowledged {
		t.Errorf("outcomes %v, want one refusal and then an acknowledged write", outcomes)
	}
}

func TestWriter_NamespaceCannotBeMade_SaysSo(t *testing.T) {
	t.Parallel()
	connect, _ := serving(t, status(http.StatusNotFound))
	w := &load.Writer{Shoot: "alpha", Actor: "user", Connect: connect, Keys: keys(), PerSecond: 10}
	err := w.Sample(t.Context(), journal())
	if err == nil || !strings.HasPrefix(err.Error(), `make the namespace "transplant-load" of the load again: `) {
		t.Errorf("error %v", err)
	}
}
