package environment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"

	"github.com/Masterminds/semver/v3"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
)

// ChaosMeshFlag is the flag by which Chaos Mesh is asked for.
const ChaosMeshFlag = "chaos-mesh"

// ChaosMesh is brought on every cluster of a landscape, when it is asked for. A seed that was wiped has none.
//
// The helm command does that, as its users do it: Helm's library would bring more code than all the rest of this
// program.
type ChaosMesh struct {
	Chart string // a version of the published chart, or a chart as helm takes it; empty for none
}

// AddFlags adds the flag by which it is asked for, once: backends may share it.
func (c *ChaosMesh) AddFlags(flags *pflag.FlagSet) {
	if flags.Lookup(ChaosMeshFlag) != nil {
		return
	}
	flags.StringVar(&c.Chart, ChaosMeshFlag, "",
		"backend kind: install Chaos Mesh on every cluster with the command helm: a version of its published chart, such "+
			"as 2.8.2, or a chart as helm takes it; images come from this machine's Docker, or else they are pulled")
}

// Wanted says whether it is asked for.
func (c *ChaosMesh) Wanted() bool { return c != nil && c.Chart != "" }

// Check says what is wrong with the flag on a backend, and what the machine lacks.
func (c *ChaosMesh) Check(backend string) error {
	if !c.Wanted() {
		return nil
	}
	if backend != rundir.Kind {
		return fmt.Errorf("--%s %s: Chaos Mesh harms containers, of which backend %s has none: leave it out, or take "+
			"--backend %s", ChaosMeshFlag, c.Chart, backend, rundir.Kind)
	}
	if _, err := exec.LookPath("helm"); err != nil {
		return fmt.Errorf("--%s %s: the helm command, which installs it, is not in PATH", ChaosMeshFlag, c.Chart)
	}
	return nil
}

// install it on all clusters side by side, by their kubeconfigs, and wait until it runs.
func (c *ChaosMesh) install(ctx context.Context, kubeconfigs map[string]string) error {
	if !c.Wanted() {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	for cluster, kubeconfig := range kubeconfigs {
		group.Go(func() error {
			args := append(c.arguments("install"), "--kubeconfig", kubeconfig, "--create-namespace", "--wait", "--timeout",
				"10m")
			if _, err := helm(ctx, args); err != nil {
				return fmt.Errorf("install Chaos Mesh on cluster %q: %w", cluster, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// images of the chart that this machine's Docker has: nodes are given them, and pull the others.
func (c *ChaosMesh) images(ctx context.Context) ([]string, error) {
	if !c.Wanted() {
		return nil, nil
	}
	rendered, err := helm(ctx, c.arguments("template"))
	if err != nil {
		return nil, fmt.Errorf("find the images of Chaos Mesh: %w", err)
	}
	names, err := imagesOf(rendered)
	if err != nil {
		return nil, fmt.Errorf("find the images of Chaos Mesh in what helm has rendered: %w", err)
	}
	var local []string
	for _, name := range names {
		has, err := docker.HasImage(ctx, name)
		if err != nil {
			return nil, err
		}
		if has {
			local = append(local, name)
		}
	}
	return local, nil
}

// pauseImage is the variable by which the controller manager learns what containers run when they are to fail.
const pauseImage = "POD_FAILURE_PAUSE_IMAGE"

// imagesOf manifests are those that their containers name, as their own or as the one that others are to run, in order.
func imagesOf(manifests []byte) ([]string, error) {
	var names []string
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		var manifest struct {
			Spec struct {
				Template corev1.PodTemplateSpec `json:"template"`
			} `json:"spec"`
		}
		err := decoder.Decode(&manifest)
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return slices.Compact(names), nil
		}
		if err != nil {
			return nil, err
		}
		spec := manifest.Spec.Template.Spec
		for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
			names = append(names, container.Image)
			for _, variable := range container.Env {
				if variable.Name == pauseImage {
					names = append(names, variable.Value)
				}
			}
		}
	}
}

func helm(ctx context.Context, args []string) ([]byte, error) {
	command := exec.CommandContext(ctx, "helm", args...)
	var said, complained bytes.Buffer
	command.Stdout, command.Stderr = &said, &complained
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("run helm: %w: %s", err, bytes.TrimSpace(append(said.Bytes(), complained.Bytes()...)))
	}
	return said.Bytes(), nil
}

// arguments of helm. kind's nodes have containerd; nobody looks at the dashboard, and DNSChaos is none of our faults.
func (c *ChaosMesh) arguments(verb string) []string {
	chart := []string{c.Chart}
	if _, err := semver.NewVersion(c.Chart); err == nil {
		chart = []string{"chaos-mesh", "--repo", "https://charts.chaos-mesh.org", "--version", c.Chart}
	}
	return append(append([]string{verb, "chaos-mesh"}, chart...),
		"--namespace", "chaos-mesh",
		"--set", "chaosDaemon.runtime=containerd", "--set", "chaosDaemon.socketPath=/run/containerd/containerd.sock",
		"--set", "controllerManager.replicaCount=1", "--set", "dashboard.create=false", "--set", "dnsServer.create=false",
	)
}
