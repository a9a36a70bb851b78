// Package provider offers a landscape to suites of sigs.k8s.io/e2e-framework, as kind and k3d are offered: the cluster
// of the suite is the garden, with a gardenlet and an extension on each seed; other clusters are asked for by name.
//
// It drives the program transplant, as a person would, and needs nothing else of this module.
package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/e2e-framework/klient"
	"sigs.k8s.io/e2e-framework/support"
)

// DefaultPath is the program that is looked for where WithPath names none.
const DefaultPath = "transplant"

// Provider is one landscape. Use New.
type Provider struct {
	name, path, version string
	seeds               []string
	kubeconfig          string
	config              *rest.Config
}

var _ support.E2EClusterProvider = &Provider{}

// New is a landscape that is not up yet, with seeds a and b.
func New() *Provider { return (&Provider{}).defaulted() }

// WithSeeds names the seeds; with none there is only the garden.
func WithSeeds(names ...string) support.ClusterOpts {
	return func(p support.E2EClusterProvider) {
		if landscape, is := p.(*Provider); is {
			landscape.seeds = names
		}
	}
}

func (p *Provider) defaulted() *Provider {
	if p.path == "" {
		p.path = DefaultPath
	}
	if p.seeds == nil {
		p.seeds = []string{"a", "b"}
	}
	return p
}

// SetDefaults implements E2EClusterProvider.
func (p *Provider) SetDefaults() support.E2EClusterProvider { return p.defaulted() }

// WithName names the landscape; several run side by side.
func (p *Provider) WithName(name string) support.E2EClusterProvider {
	p.name = name
	return p
}

// WithVersion demands a version of Kubernetes, such as v1.36.3. The program has been built with one: Create fails when
// it is another.
func (p *Provider) WithVersion(version string) support.E2EClusterProvider {
	p.version = version
	return p
}

// WithPath is where the program transplant is.
func (p *Provider) WithPath(path string) support.E2EClusterProvider {
	p.path = path
	return p
}

// WithOpts implements E2EClusterProvider.
func (p *Provider) WithOpts(opts ...support.ClusterOpts) support.E2EClusterProvider {
	for _, opt := range opts {
		opt(p)
	}
	return p
}

// Create brings the landscape up, with further arguments for `transplant up`, and returns the garden's kubeconfig.
func (p *Provider) Create(ctx context.Context, args ...string) (string, error) {
	if _, err := p.run(ctx, append([]string{"up", "--seeds=" + strings.Join(p.seeds, ",")}, args...)...); err != nil {
		return "", err
	}
	kubeconfig, err := p.Kubeconfig("garden")
	if err != nil {
		return "", err
	}
	if p.config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
		return "", fmt.Errorf("read the garden's kubeconfig: %w", err)
	}
	p.kubeconfig = kubeconfig
	if err := p.checkVersion(); err != nil {
		return "", errors.Join(err, p.Destroy(ctx))
	}
	return kubeconfig, nil
}

func (p *Provider) checkVersion() error {
	if p.version == "" {
		return nil
	}
	client, err := discovery.NewDiscoveryClientForConfig(p.config)
	if err != nil {
		return fmt.Errorf("make a client of the garden: %w", err)
	}
	runs, err := client.ServerVersion()
	if err != nil {
		return fmt.Errorf("ask the garden for its version: %w", err)
	}
	if "v"+strings.TrimPrefix(p.version, "v") != runs.GitVersion {
		return fmt.Errorf("the landscape %q runs Kubernetes %s, and %s is wanted: the version is that of the program %s",
			p.name, runs.GitVersion, p.version, p.path)
	}
	return nil
}

// CreateWithConfig is refused: a landscape has no configuration file.
func (p *Provider) CreateWithConfig(_ context.Context, file string) (string, error) {
	return "", fmt.Errorf(
		"create a landscape with %q: there is no configuration file for one; use provider.WithSeeds, or arguments of Create",
		file)
}

// Kubeconfig of the garden or a seed, by its name; by it everything may be done.
func (p *Provider) Kubeconfig(cluster string) (string, error) { return p.GenerateKubeconfig(cluster) }

// GetKubeconfig is the garden's.
func (p *Provider) GetKubeconfig() string { return p.kubeconfig }

// GenerateKubeconfig takes the arguments of `transplant kubeconfig`, such as a shoot's name, and returns the
// path of the file.
func (p *Provider) GenerateKubeconfig(args ...string) (string, error) {
	said, err := p.run(context.Background(), append([]string{"kubeconfig", "--path"}, args...)...)
	return strings.TrimSpace(said), err
}

// GetKubectlContext is the current context of the garden's kubeconfig.
func (p *Provider) GetKubectlContext() string {
	config, err := clientcmd.LoadFromFile(p.kubeconfig)
	if err != nil {
		return "" // there is no landscape
	}
	return config.CurrentContext
}

// KubernetesRestConfig is the garden's; nil before Create.
func (p *Provider) KubernetesRestConfig() *rest.Config { return p.config }

// WaitForControlPlane implements E2EClusterProvider: Create returns when everything is ready.
func (p *Provider) WaitForControlPlane(context.Context, klient.Client) error { return nil }

// ExportLogs writes the log of every process of the landscape into a folder, of one that has ended too.
func (p *Provider) ExportLogs(ctx context.Context, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder for the logs: %w", err)
	}
	names, err := p.run(ctx, "logs")
	if err != nil {
		return err
	}
	var errs []error
	for name := range strings.FieldsSeq(names) {
		text, err := p.run(ctx, "logs", name)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, strings.ReplaceAll(name, "/", "_")+".log"), []byte(text), 0o644)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Destroy ends the landscape and removes what is left of it.
func (p *Provider) Destroy(ctx context.Context) error {
	_, err := p.run(ctx, "down")
	p.kubeconfig, p.config = "", nil
	return err
}

// run the program on this landscape, and return what it prints.
func (p *Provider) run(ctx context.Context, args ...string) (string, error) {
	if p.name != "" {
		args = slices.Insert(args, 1, "--landscape="+p.name)
	}
	command := exec.CommandContext(ctx, p.path, args...)
	var said, wrong bytes.Buffer
	command.Stdout, command.Stderr = &said, &wrong
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("run %s %s: %w: %s", p.path, strings.Join(args, " "), err, strings.TrimSpace(wrong.String()))
	}
	return said.String(), nil
}
