package embedded

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
)

// machine is a node of a cluster whose nodes are machines: the process that runs its pods, and its disk.
type machine struct {
	process.ID
	disk string
}

// hasNode says whether a cluster runs a node of its own.
func hasNode(c *Cluster) bool { return !c.landscape.options.WithoutNodes && !c.api.OnMachines }

// machinesOf a cluster are those that run now. They run below extras, and are known by the addresses of their pods.
func machinesOf(c *Cluster) ([]machine, error) {
	if !c.api.OnMachines {
		return nil, nil
	}
	var found []machine
	for _, extra := range c.landscape.extras.all() {
		if !extra.Running() {
			continue
		}
		below, err := process.ProgramsBelow(extra.PID())
		if err != nil {
			return nil, fmt.Errorf("look for the machines of cluster %q: %w", c.name, err)
		}
		for _, p := range below {
			disk := argument(p, program.FlagMachine)
			pods, err := netip.ParsePrefix(argument(p, program.FlagPods))
			if err == nil && disk != "" && c.plan.Pods.Contains(pods.Addr()) && !slices.ContainsFunc(found,
				func(m machine) bool { return m.disk == disk }) { // a child of the process has its arguments
				found = append(found, machine{p.ID, disk})
			}
		}
	}
	return found, nil
}

func argument(p process.Program, prefix string) string {
	for _, arg := range p.Args {
		if value, is := strings.CutPrefix(arg, prefix); is {
			return value
		}
	}
	return ""
}

// setPower of the machines of a cluster, now and later.
func setPower(c *Cluster, to program.Power) error {
	if !c.api.OnMachines {
		return nil
	}
	return program.SwitchPower(c.landscape.dir.Join(program.NodesFolder), c.plan.Range(), to)
}

// settleTime is longer than it takes to start a process after a look at the power.
const settleTime = 200 * time.Millisecond

// switchOff the machines of a cluster, with everything that runs on them. With wipe their disks lose the folders of
// pods and volumes; the volumes of the cloud are not on them.
func switchOff(c *Cluster, wipe bool) error {
	machines, err := machinesOf(c)
	errs := []error{err, setPower(c, program.PowerOff)}
	for deadline := time.Now().Add(goneWithin); len(machines) > 0; {
		for _, m := range machines {
			below, err := process.Descendants(m.PID)
			errs = append(errs, err)
			for _, id := range append([]process.ID{m.ID}, below...) {
				errs = append(errs, id.Kill(goneWithin))
			}
			for _, folder := range []string{"pods", "volumes"} {
				if wipe {
					errs = append(errs, os.RemoveAll(filepath.Join(m.disk, kubeletFolder, folder)))
				}
			}
		}
		time.Sleep(settleTime) // one may just have been about to start
		if machines, err = machinesOf(c); len(machines) > 0 && time.Now().After(deadline) {
			err = fmt.Errorf("%d machines of cluster %q run without power", len(machines), c.name)
			return errors.Join(append(errs, err)...)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// kubeletFolder, on the disk of a machine, has the folders of its pods and its volumes.
const kubeletFolder = "var/lib/kubelet"

// freezeMachines stops what runs on the machines of a cluster. It returns what it has stopped, parents first.
func freezeMachines(c *Cluster) (stopped []process.ID, err error) {
	if err := setPower(c, program.PowerFrozen); err != nil {
		return nil, err
	}
	machines, err := machinesOf(c)
	errs := []error{err}
	for _, m := range machines {
		below, err := m.Freeze()
		stopped, errs = append(append(stopped, m.ID), below...), append(errs, err)
	}
	return stopped, errors.Join(errs...)
}
