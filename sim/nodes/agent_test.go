package nodes

import (
	"net/netip"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"

	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/sim/nodes/real"
)

// An agent without trouble looks seldom: the cloud reports changes. One that could not do something tries again soon.
func TestLook_NothingToDo_WaitsForChanges(t *testing.T) {
	t.Parallel()
	w := &world{t: t}
	w.startCloud()
	plan, err := address.In(netip.MustParsePrefix("127.245.0.0/16"))
	w.check(err)
	root := t.TempDir()
	agent := New(Options{Cloud: w.nodes, RootDir: root, Log: testr.New(t),
		Real: real.Options{Networks: map[string]address.Cluster{"alpha": plan}, Root: root}})
	if next, err := agent.look(t.Context()); next != resync || err != nil {
		t.Errorf("without trouble: again after %s, %v; want %s", next, err, resync)
	}
	agent.options.Real.Root = "/dev/null" // which cannot be read as a folder
	if next, err := agent.look(t.Context()); next != time.Second || err == nil {
		t.Errorf("with an error: again after %s, %v; want %s", next, err, time.Second)
	}
}
