package nodes

import (
	"testing"
	"time"
)

// An agent without trouble looks seldom: the cloud reports changes. One that could not do something tries again soon.
func TestLook_NothingToDo_WaitsForChanges(t *testing.T) {
	t.Parallel()
	_, agent := newReal(t)
	if next, err := agent.look(t.Context()); next != resync || err != nil {
		t.Errorf("without trouble: again after %s, %v; want %s", next, err, resync)
	}
	agent.options.Real.Root = "/dev/null" // which cannot be read as a folder
	if next, err := agent.look(t.Context()); next != time.Second || err == nil {
		t.Errorf("with an error: again after %s, %v; want %s", next, err, time.Second)
	}
}
