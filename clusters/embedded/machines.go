package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
			disk := argument(p, "--machine=")
			pods, err := netip.ParsePrefix(argument(p, "--pod-cidr="))
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

// switchOff machines, with everything that runs on them. With wipe their disks lose what their pods have kept there.
func switchOff(machines []machine, wipe bool) error {
	var errs []error
	for _, m := range machines {
		errs = append(errs, os.WriteFile(filepath.Join(m.disk, program.PowerOff), nil, 0o600))
		below, err := process.Descendants(m.PID)
		errs = append(errs, err)
		for _, id := range append([]process.ID{m.ID}, below...) {
			errs = append(errs, id.Kill(goneWithin))
		}
		if wipe {
			errs = append(errs, os.RemoveAll(filepath.Join(m.disk, "var/lib/kubelet/pods")),
				os.RemoveAll(filepath.Join(m.disk, "var/lib/kubelet/volumes")))
		}
	}
	return errors.Join(errs...)
}

// switchOn machines that were switched off. One that is gone meanwhile stays so.
func switchOn(machines []machine) error {
	var errs []error
	for _, m := range machines {
		if err := os.Remove(filepath.Join(m.disk, program.PowerOff)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
