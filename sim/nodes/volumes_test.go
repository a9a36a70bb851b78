package nodes

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr/testr"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podvolume"
	"github.com/transplant-sim/transplant/sim/nodes/real"
)

// newReal is an agent that nobody runs, whose nodes of a shoot would run pods, in a world without that shoot.
func newReal(t *testing.T) (*world, *Agent) {
	t.Helper()
	w := &world{t: t}
	w.startCloud()
	plan, err := address.In(netip.MustParsePrefix("127.245.0.0/16"))
	w.check(err)
	root := t.TempDir()
	return w, New(Options{Cloud: w.nodes, RootDir: root, Log: testr.New(t),
		Real: real.Options{Networks: map[string]address.Cluster{"alpha": plan}, Root: root}})
}

// What a pod writes to a volume of the cloud is found by the next machine that the volume is attached to, and goes with
// the volume.
func TestAttachVolumes_ContentsFollowTheVolume(t *testing.T) {
	t.Parallel()
	w, agent := newReal(t)
	root := agent.options.RootDir
	boot := func(ca string) string {
		m, err := w.cloud.Machines().Create(t.Context(), &cloud.Machine{Type: "small", Zone: "z1"})
		w.check(err)
		data := &cloud.NodeUserData{KubeletClientCA: []byte(ca)} // with which the pods of the machine run
		agent.known[m.ID] = &machine{Machine: *m, data: data}
		return m.ID
	}
	first, second, simulated := boot("ca"), boot("ca"), boot("")
	volume, err := w.cloud.Volumes().Create(t.Context(), &cloud.Volume{Size: "1Gi", Zone: "z1"})
	w.check(err)
	attach := func(machine string) {
		volume.MachineID = machine
		volume, err = w.cloud.Volumes().Update(t.Context(), volume.ID, volume)
		w.check(err)
		w.check(agent.attachVolumes(t.Context()))
	}
	at := func(machine string) string { return filepath.Join(root, machine, podvolume.Devices, volume.ID, "data") }
	reads := func(machine string) string {
		content, _ := os.ReadFile(at(machine))
		return string(content)
	}

	attach(first)
	attach(first) // again, as each look does
	w.check(os.WriteFile(at(first), []byte("written"), 0o600))
	w.check(os.Chmod(filepath.Dir(at(first)), 0o750|os.ModeSetgid))
	w.check(agent.attachVolumes(t.Context()))
	if info, err := os.Stat(filepath.Dir(at(first))); err != nil || info.Mode() != 0o750|os.ModeSetgid|os.ModeDir {
		t.Errorf("the mode that a pod has set is %v, %v", info.Mode(), err)
	}
	attach("")
	if reads(first) != "" {
		t.Error("a machine reads a volume that was detached")
	}
	attach(simulated)
	if reads(simulated) != "" {
		t.Error("a machine whose pods do not run has a disk")
	}
	attach("")
	attach(second)
	if reads(second) != "written" || reads(first) != "" {
		t.Errorf("the second machine reads %q, the first %q", reads(second), reads(first))
	}
	attach("")
	w.check(w.cloud.Volumes().Delete(t.Context(), volume.ID))
	w.check(agent.attachVolumes(t.Context()))
	left, err := filepath.Glob(filepath.Join(string(agent.options.Real.Volumes()), "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("of a volume that was deleted there is %s, %v", strings.Join(left, " "), err)
	}
}

// A machine that is gone, and whose pods still run, keeps its volumes until they have ended. A machine that is there
// has lost what the cloud has given to another.
func TestKeepBack_PodsOfAMachineThatIsGone_VolumeWaits(t *testing.T) {
	t.Parallel()
	agent := New(Options{})
	agent.known["there"] = &machine{}
	pods := map[string]bool{"gone": true, "there": true}
	look := func(attachedTo string) (at string, err error) {
		all := []cloud.Volume{{Meta: cloud.Meta{ID: "v"}, MachineID: attachedTo}}
		err = agent.keepBack(all, func(machine string) bool { return pods[machine] })
		return all[0].MachineID, err
	}
	for i, step := range []struct {
		to, want string
		waits    bool
	}{
		{to: "there", want: "there"},
		{to: "gone", want: "gone"}, // the cloud took it away from a machine that lives
		{to: "", want: ""},
		{to: "third", want: "gone", waits: true},
		{to: "third", want: "gone", waits: true},
	} {
		at, err := look(step.to)
		if at != step.want || (err != nil) != step.waits {
			t.Errorf("look %d: the volume is at %q, %v; want %q", i, at, err, step.want)
		}
	}
	pods["gone"] = false
	if at, err := look("third"); at != "third" || err != nil {
		t.Errorf("when the pods have ended the volume is at %q, %v", at, err)
	}
}
