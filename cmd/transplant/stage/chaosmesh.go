package stage

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

const chaosMeshFlag = "chaos-mesh"

// ChaosMesh is brought on every cluster of a landscape, when it is asked for. A seed that was wiped has none.
//
// The helm command does that, as its users do it: Helm's library would bring more code than all the rest of this program.
type ChaosMesh struct {
	Chart string // a version of the published chart, or a chart as helm takes it; empty for none
}

// AddFlags adds the flag by which it is asked for, once: backends may share it.
func (c *ChaosMesh) AddFlags(flags *pflag.FlagSet) {
	if flags.Lookup(chaosMeshFlag) != nil {
		return
	}
	flags.StringVar(&c.Chart, chaosMeshFlag, "",
		"backend kind: install Chaos Mesh on every cluster with the helm command: a version of its published chart, such as 2.8.2, or a chart as helm takes it; "+
			"its images are pulled")
}

func (c *ChaosMesh) wanted() bool { return c != nil && c.Chart != "" }

// Check says what is wrong with the flag on a backend, and what the machine lacks.
func (c *ChaosMesh) Check(backend string) error {
	if !c.wanted() {
		return nil
	}
	if backend != rundir.Kind {
		return fmt.Errorf("--%s %s: Chaos Mesh harms containers, of which backend %s has none: leave it out, or take --backend %s", chaosMeshFlag, c.Chart, backend, rundir.Kind)
	}
	if _, err := exec.LookPath("helm"); err != nil {
		return fmt.Errorf("--%s %s: the helm command, which installs it, is not in PATH", chaosMeshFlag, c.Chart)
	}
	return nil
}

// install it on all clusters side by side, by their kubeconfigs, and wait until it runs.
func (c *ChaosMesh) install(ctx context.Context, kubeconfigs map[string]string) error {
	if !c.wanted() {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	for cluster, kubeconfig := range kubeconfigs {
		group.Go(func() error {
			command := exec.CommandContext(ctx, "helm", c.arguments(kubeconfig)...)
			var said bytes.Buffer
			command.Stdout, command.Stderr = &said, &said
			if err := command.Run(); err != nil {
				return fmt.Errorf("install Chaos Mesh on cluster %q: run helm: %w: %s", cluster, err, strings.TrimSpace(said.String()))
			}
			return nil
		})
	}
	return group.Wait()
}

// arguments of helm. kind's nodes have containerd; nobody looks at the dashboard, and DNSChaos is none of our faults.
func (c *ChaosMesh) arguments(kubeconfig string) []string {
	chart := []string{c.Chart}
	if _, err := semver.NewVersion(c.Chart); err == nil {
		chart = []string{"chaos-mesh", "--repo", "https://charts.chaos-mesh.org", "--version", c.Chart}
	}
	return append(append([]string{"install", "chaos-mesh"}, chart...),
		"--kubeconfig", kubeconfig, "--namespace", "chaos-mesh", "--create-namespace", "--wait", "--timeout", "10m",
		"--set", "chaosDaemon.runtime=containerd", "--set", "chaosDaemon.socketPath=/run/containerd/containerd.sock",
		"--set", "controllerManager.replicaCount=1", "--set", "dashboard.create=false", "--set", "dnsServer.create=false",
	)
}
