// Command chaosmesh builds the images and the chart of Chaos Mesh from its Go module and Debian's packages, for
// machines that cannot pull the published ones; where those can be pulled, they serve. "run --chaos-mesh FOLDER" takes
// the chart.
//
// What no Go module has is left out: experiments with files, HTTP and Java do not work with these images. PodChaos,
// NetworkChaos, StressChaos and TimeChaos do. It needs Debian, root, a C compiler, mmdebstrap and Docker: ".ci/docker
// up" sees to them.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/transplant-sim/transplant/clusters/kind/imagebuild"
)

// registry of the images' names: nobody has published them.
const registry = "transplant.dev"

// module is Chaos Mesh's own.
const module = "github.com/chaos-mesh/chaos-mesh"

// packages that the daemon calls.
var packages = []string{"iptables", "ipset", "iproute2", "procps", "stress-ng", "util-linux"}

// pauseImage is the name of the image that containers run instead of theirs, in the chart's values.
const pauseImage = "      pauseImage:"

func main() {
	source := flag.String("source", filepath.Join("clusters", "kind", "chaosmesh"), "folder of this command's sources")
	chart := flag.String("chart", filepath.Join("out", "chaos-mesh"),
		"folder for the chart; the command replaces one that is there")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := build(ctx, *source, *chart)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Chaos Mesh:", err)
		os.Exit(1)
	}
}

// maker makes the images and the chart of one version.
type maker struct {
	source  string // of this command
	theirs  string // the folder of Chaos Mesh's module
	version string // of it
	digest  string
	chart   string
	work    string
}

func build(ctx context.Context, source, chart string) error {
	if err := imagebuild.Tools("mmdebstrap", "docker", "go", "cc"); err != nil {
		return err
	}
	m := &maker{source: source, chart: chart}
	if err := m.prepare(ctx); err != nil {
		return err
	}
	steps := []imagebuild.Step{{Name: "chart", Do: m.layChart}}
	missing := func(name string) bool { return !imagebuild.Present(ctx, m.tag(name), m.digest) }
	if slices.ContainsFunc([]string{"chaos-mesh", "chaos-daemon", "pause"}, missing) {
		work, err := os.MkdirTemp("", "chaos-mesh-")
		if err != nil {
			return fmt.Errorf("make the work folder: %w", err)
		}
		defer os.RemoveAll(work)
		m.work = work
		steps = append(steps,
			imagebuild.Step{Name: "sources", Do: m.sources},
			imagebuild.Step{Name: "programs", Do: m.programs},
			imagebuild.Step{Name: "image of the controller manager", Do: m.manager},
			imagebuild.Step{Name: "image of the daemon", Do: m.daemon},
			imagebuild.Step{Name: "image that does nothing", Do: m.pause},
		)
	}
	return imagebuild.Steps(ctx, "Chaos Mesh", "the images are in Docker, the chart is in "+chart, steps...)
}

func (m *maker) prepare(ctx context.Context) error {
	modules := filepath.Join(m.source, "programs")
	if _, err := imagebuild.Run(ctx, modules, []string{"GOWORK=off"}, "go", "mod", "download", module); err != nil {
		return err
	}
	output, err := imagebuild.Run(ctx, modules, []string{"GOWORK=off"}, "go", "list", "-m", "-f", "{{.Dir}} {{.Version}}",
		module)
	if err != nil {
		return err
	}
	found := strings.Fields(output)
	if len(found) != 2 {
		return fmt.Errorf("find the module %s: go list says %q", module, output)
	}
	m.theirs, m.version = found[0], found[1]
	m.digest, err = imagebuild.Digest([]string{filepath.Join(m.source, "programs"), filepath.Join(m.source, "rootfs"),
		filepath.Join(m.source, "..", "imagebuild")}, filepath.Join(m.source, "main.go"))
	return err
}

// tag is the name of an image, such as the chart makes it.
func (m *maker) tag(name string) string { return registry + "/chaos-mesh/" + name + ":" + m.version }

// layChart lays their chart out, with the names of our images in it.
func (m *maker) layChart(ctx context.Context) error {
	if err := m.clearChart(); err != nil {
		return err
	}
	if err := imagebuild.CopyTree(filepath.Join(m.theirs, "helm", "chaos-mesh"), m.chart, nil); err != nil {
		return err
	}
	file := filepath.Join(m.chart, "values.yaml")
	values, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the chart's values: %w", err)
	}
	if values, err = m.rename(values); err != nil {
		return err
	}
	if err := os.WriteFile(file, values, 0o600); err != nil {
		return fmt.Errorf("write the chart's values: %w", err)
	}
	return m.define(ctx, filepath.Join(m.chart, "crds"))
}

// clearChart removes the chart of before, and nothing else that a mistaken -chart may name.
func (m *maker) clearChart() error {
	entries, err := os.ReadDir(m.chart)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for the chart of before: %w", err)
	}
	if _, err := os.Stat(filepath.Join(m.chart, "Chart.yaml")); err != nil && len(entries) > 0 {
		return fmt.Errorf("-chart %s: there is something else in the folder: name one that is empty, or that has a chart",
			m.chart)
	}
	if err := os.RemoveAll(m.chart); err != nil {
		return fmt.Errorf("remove the chart of before: %w", err)
	}
	return nil
}

// define makes the definitions of the kinds anew, of the Go types that the programs have: those are a module of its
// own, whose versions are others than the chart's. Its webhooks refuse every update of an object that lost a field on
// its way.
func (m *maker) define(ctx context.Context, folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("remove the chart's definitions: %w", err)
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return fmt.Errorf("find the folder of definitions: %w", err)
	}
	_, err = imagebuild.Run(ctx, m.source, nil, "go", "tool", "controller-gen", "crd:ignoreUnexportedFields=true",
		"paths="+module+"/api/v1alpha1", "output:crd:dir="+folder)
	return err
}

// rename the images in a chart's values: the lines of the section "images" that say from where they are, and which; and
// the one that names the image of containers that are to fail.
func (m *maker) rename(values []byte) ([]byte, error) {
	lines := bytes.Split(values, []byte("\n"))
	inside, renamed := false, 0
	for n, line := range lines {
		switch text := string(line); {
		case text == "images:":
			inside = true
		case inside && strings.HasPrefix(text, "  registry:"):
			lines[n], renamed = []byte("  registry: "+registry), renamed+1
		case inside && strings.HasPrefix(text, "  tag:"):
			lines[n], renamed = []byte("  tag: "+m.version), renamed+1
		case strings.HasPrefix(text, pauseImage):
			lines[n], renamed = []byte(pauseImage+" "+m.tag("pause")), renamed+1
		case text != "" && text[0] != ' ' && text[0] != '#':
			inside = false
		}
	}
	if renamed != 3 {
		return nil, fmt.Errorf("name the images in the chart's values: %d of the 3 lines images.registry, images.tag and "+
			"pauseImage are there", renamed)
	}
	return bytes.Join(lines, []byte("\n")), nil
}

// sources copies those of the module, with what is compiled before its programs: the machine code that TimeChaos puts
// into processes, which they embed. In the module's own folder nothing may be added.
func (m *maker) sources(ctx context.Context) error {
	copied := filepath.Join(m.work, "sources")
	if err := imagebuild.CopyTree(m.theirs, copied, nil); err != nil {
		return err
	}
	if err := passMissingControllers(filepath.Join(copied, "pkg", "chaosdaemon", "cgroups", "pidpath.go")); err != nil {
		return err
	}
	for _, name := range []string{"fake_clock_gettime", "fake_gettimeofday"} {
		flags := []string{"-c", "-fPIE", "-O2", "-o", name + ".o", name + ".c"}
		if runtime.GOARCH == "arm64" { // as its Makefile has it
			flags = append(flags, "-mcmodel=tiny")
		}
		folder := filepath.Join(copied, "pkg", "time", "fakeclock")
		if _, err := imagebuild.Run(ctx, folder, nil, "cc", flags...); err != nil {
			return err
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := imagebuild.CopyFile(filepath.Join(m.source, "programs", name), m.modules(name), 0o600, nil); err != nil {
			return err
		}
	}
	_, err := imagebuild.Run(ctx, m.work, []string{"GOWORK=off"}, "go", "mod", "edit", "-replace", module+"="+copied,
		m.modules("go.mod"))
	return err
}

// passMissingControllers changes one line of Chaos Mesh: where a kernel with cgroup v1 lacks a controller, systemd has
// an empty folder for it all the same, and StressChaos would fail because no process is in it.
func passMissingControllers(file string) error {
	const old, changed = `errors.New("controller is not supported")`, "cgroups.ErrControllerNotActive"
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the source of control groups: %w", err)
	}
	if found := strings.Count(string(content), old); found != 1 {
		return fmt.Errorf("%s has %d times %s, want one: look at what Chaos Mesh does there now", file, found, old)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(content), old, changed, 1)), 0o600)
}

// modules is where the list of the programs' modules is, which names the copied sources.
func (m *maker) modules(name string) string { return filepath.Join(m.work, "modules", name) }

// programs compiles them, static: the daemon has some C in it, and pause, which holds a stressor until it is in the
// control group of its pod, is nothing else.
func (m *maker) programs(ctx context.Context) error {
	bin := filepath.Join(m.work, "bin")
	_, err := imagebuild.Run(ctx, filepath.Join(m.source, "programs"), []string{"CGO_ENABLED=1", "GOWORK=off"}, "go",
		"build", "-trimpath", "-modfile", m.modules("go.mod"),
		"-tags", "netgo,osusergo", "-ldflags", "-s -w -linkmode external -extldflags -static", "-o",
		bin+string(filepath.Separator), "tool")
	if err != nil {
		return err
	}
	_, err = imagebuild.Run(ctx, "", nil, "cc", "-static", "-O2", "-o", filepath.Join(bin, "pause"),
		filepath.Join(m.theirs, "hack", "pause.c"))
	return err
}

// manager makes the image of the controller manager: that program, and nothing else.
func (m *maker) manager(ctx context.Context) error {
	folder := filepath.Join(m.work, "manager")
	if err := m.place(folder, "chaos-controller-manager", "chaos-controller-manager"); err != nil {
		return err
	}
	return imagebuild.Build(ctx, folder, []string{"FROM scratch", "COPY . /", imagebuild.SearchPath,
		imagebuild.Label(m.digest)}, m.tag("chaos-mesh"))
}

// daemon makes the image of the daemon: Debian's packages, and the programs over them.
func (m *maker) daemon(ctx context.Context) error {
	folder := filepath.Join(m.work, "daemon")
	for program, name := range map[string]string{
		"chaos-daemon": "chaos-daemon", "chaos-daemon-helper": "cdh", "pause": "pause",
	} {
		if err := m.place(filepath.Join(folder, "own"), program, name); err != nil {
			return err
		}
	}
	if err := imagebuild.CopyTree(filepath.Join(m.source, "rootfs"), filepath.Join(folder, "own"), nil); err != nil {
		return err
	}
	archive, err := imagebuild.Debian(ctx, packages...)
	if err != nil {
		return err
	}
	if err := imagebuild.CopyFile(archive, filepath.Join(folder, "debian.tar"), 0o600, nil); err != nil {
		return err
	}
	return imagebuild.Build(ctx, folder, []string{"FROM scratch", "ADD debian.tar /", "COPY own /", imagebuild.SearchPath,
		imagebuild.Label(m.digest)}, m.tag("chaos-daemon"))
}

// pause makes the image that containers run instead of theirs when they are to fail.
func (m *maker) pause(ctx context.Context) error {
	folder := filepath.Join(m.work, "pause")
	if err := m.place(folder, "pause", "pause"); err != nil {
		return err
	}
	return imagebuild.Build(ctx, folder, []string{"FROM scratch", "COPY . /", imagebuild.SearchPath,
		`CMD ["/usr/local/bin/pause"]`, imagebuild.Label(m.digest)}, m.tag("pause"))
}

// place puts a program where the chart looks for it.
func (m *maker) place(folder, program, name string) error {
	return imagebuild.CopyFile(filepath.Join(m.work, "bin", program), filepath.Join(folder, "usr", "local", "bin", name),
		0o755, nil)
}
