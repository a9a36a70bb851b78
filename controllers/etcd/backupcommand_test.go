package etcd

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/datadir"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// Who lapsed without a fence takes no final snapshot (docs/ownership.md#o3, docs/ownership.md#o4), and only the valid
// owner removes old objects. The sidecar knows both by what the guard has left beside the data. The epoch is 3, and the
// clock says that 4 s have passed.
func TestWhatTheSidecarMayDo(t *testing.T) {
	t.Parallel()
	unrevoked, revoked := &validity.Fence{}, &validity.Fence{Revoked: true}
	for name, c := range map[string]struct {
		change func(*validity.Memory) // of the memory of a guard that is valid for another second
		ends   bool                   // it may take the final snapshot
		kept   bool                   // it may remove nothing
	}{
		"valid": {},
		"lapsed": {change: func(m *validity.Memory) {
			m.Until = ownership.Instant(4 * time.Second)
		}, kept: true},
		"of a boot before":     {change: func(m *validity.Memory) { m.BootID = "boot-1" }, kept: true},
		"of an older epoch":    {change: func(m *validity.Memory) { m.Epoch = 2 }, kept: true},
		"of a newer epoch":     {change: func(m *validity.Memory) { m.Epoch = 4 }, kept: true},
		"never valid":          {change: func(m *validity.Memory) { *m = validity.Memory{} }, kept: true},
		"fenced, with holders": {change: func(m *validity.Memory) { m.Fence = unrevoked }, kept: true},
		"fenced":               {change: func(m *validity.Memory) { m.Fence = revoked }, ends: true, kept: true},
		"fenced, and lapsed": {change: func(m *validity.Memory) {
			m.Fence, m.Until = revoked, 0
		}, ends: true, kept: true},
		"fenced, of a boot before": {change: func(m *validity.Memory) {
			m.Fence, m.BootID = revoked, "boot-1"
		}, ends: true, kept: true},
		"fenced in an older epoch":     {change: func(m *validity.Memory) { m.Fence, m.Epoch = revoked, 2 }, kept: true},
		"fenced in a newer epoch":      {change: func(m *validity.Memory) { m.Fence, m.Epoch = revoked, 4 }, kept: true},
		"lapsed, fenced, with holders": {change: func(m *validity.Memory) { m.Fence, m.Until = unrevoked, 0 }, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, clock := datadir.Dir(t.TempDir()), &ownershiptest.Clock{}
			clock.Step(4 * time.Second)
			memory := validity.Memory{Owner: "uid-a", Epoch: 3, Served: true, BootID: "boot-0",
				Until: ownership.Instant(5 * time.Second)}
			if c.change != nil {
				c.change(&memory)
			}
			if err := dir.WriteMemory(memory); err != nil {
				t.Fatal(err)
			}
			if err := mayEnd(dir, 3); c.ends != (err == nil) || err != nil && !errors.Is(err, backup.ErrNotFenced) {
				t.Errorf("the final snapshot: %v, want it %t", err, c.ends)
			}
			if got := mayDelete(dir, 3, clock); got == c.kept {
				t.Errorf("it may remove objects: %t", got)
			}
		})
	}
}

// What cannot be read allows nothing, even if what could be read of it would.
func TestWithoutTheGuardsMemoryTheSidecarMayNothing(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]string{
		"valid":  `{"owner": "uid-a", "epoch": 3, "served": "yes", "bootID": "boot-0", "until": 5000000000}`,
		"fenced": `{"owner": "uid-a", "epoch": 3, "served": "yes", "fence": {"revoked": true}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, clock := datadir.Dir(t.TempDir()), &ownershiptest.Clock{}
			if err := errors.Join(dir.WriteMemory(validity.Memory{}),
				os.WriteFile(filepath.Join(string(dir), "ownership", "guard.json"), []byte(memory), 0o600)); err != nil {
				t.Fatal(err)
			}
			if _, unread := errors.AsType[*json.UnmarshalTypeError](mayEnd(dir, 3)); !unread {
				t.Errorf("the final snapshot: %v", mayEnd(dir, 3))
			}
			if mayDelete(dir, 3, clock) {
				t.Error("it may remove objects")
			}
		})
	}
}

// TestRestoreFlags_OnDamage_DecidesAboutADamagedChain: what a restore does with it is in backup.TestRestoreNamesDamage.
func TestRestoreFlags_OnDamage_DecidesAboutADamagedChain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args     []string
		lastGood bool
		refused  bool
	}{
		{nil, false, false}, {[]string{"--on-damage=fail"}, false, false},
		{[]string{"--on-damage=last-good"}, true, false}, {[]string{"--on-damage=guess"}, false, true},
	} {
		f := &restoreFlags{backupFlags: &backupFlags{}}
		if err := f.command().ParseFlags(c.args); (err != nil) != c.refused {
			t.Errorf("%v: error %v, want one: %t", c.args, err, c.refused)
		}
		if got := f.options().LastGood; got != c.lastGood {
			t.Errorf("%v: a restore takes the last good state: %t, want %t", c.args, got, c.lastGood)
		}
	}
}
