// Command image builds a node image for kind from Debian packages and Go modules, for machines that cannot pull the
// published kindest/node. Where that can be pulled, it serves, and this is not needed.
//
// The image has the Kubernetes version of the embedded backend and its control-plane binary. kubeadm, the kubelet and
// kube-proxy come from the module below kubernetes/, the container runtime, pods' networking and DNS from that below
// runtime/; rootfs/ holds what is our own. It needs Debian, root, mmdebstrap and Docker: ".ci/docker up" sees to them.
//
// It does nothing when Docker has an image of the same sources under the tag.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/binary"
)

// sourceLabel of an image is the digest of what it was made of.
const sourceLabel = "dev.transplant.source"

func main() {
	source := flag.String("source", filepath.Join("clusters", "kind", "image"), "folder of this command's sources")
	tag := flag.String("tag", "", "name of the image (default transplant.dev/node:VERSION)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := build(ctx, *source, *tag)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "node image:", err)
		os.Exit(1)
	}
}

// image is one on its way.
type image struct {
	source, tag  string
	version      string // of Kubernetes, as "v1.36.3"
	controlPlane string // the multi-call binary
	digest       string // of the sources
	work         string // a folder of its own, removed at the end
	names        names
}

// at is a path in the work folder.
func (i *image) at(elements ...string) string {
	return filepath.Join(append([]string{i.work}, elements...)...)
}

// build takes the steps in order; each finds what those before it have left in the work folder.
func build(ctx context.Context, source, tag string) error {
	if err := tools("mmdebstrap", "docker", "go", "tar"); err != nil {
		return err
	}
	made, err := prepare(ctx, source, tag)
	if err != nil {
		return err
	}
	if made.there(ctx) {
		fmt.Printf("node image: %s is there already\n", made.tag)
		return nil
	}
	if made.work, err = os.MkdirTemp("", "node-image-"); err != nil {
		return fmt.Errorf("make the work folder: %w", err)
	}
	defer os.RemoveAll(made.work)
	begin := time.Now()
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"programs", made.programs},
		{"Debian's packages", made.debian},
		{"files of our own", made.files},
		{"images of the control plane", made.images},
		{"images into the runtime's store", made.store},
		{"node image", made.pack},
	} {
		fmt.Printf("node image: %3.0fs %s\n", time.Since(begin).Seconds(), step.name)
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	fmt.Printf("node image: %3.0fs %s is built\n", time.Since(begin).Seconds(), made.tag)
	return nil
}

// prepare finds what the image is made of, before anything is made.
func prepare(ctx context.Context, source, tag string) (*image, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return nil, fmt.Errorf("find the sources: %w", err)
	}
	made := &image{source: source, tag: tag}
	if made.version, err = kubernetesVersion(filepath.Join(source, "kubernetes", "go.mod")); err != nil {
		return nil, err
	}
	if made.tag == "" {
		made.tag = "transplant.dev/node:" + made.version
	}
	if made.controlPlane, err = binary.Ensure(ctx, nil); err != nil {
		return nil, err
	}
	output, err := do(ctx, "", nil, made.controlPlane, "kubectl", "version", "--client")
	if err != nil {
		return nil, err
	}
	if !strings.Contains(output, "Client Version: "+made.version+"\n") {
		return nil, fmt.Errorf("take the control-plane binary %q: the other programs are of %s, it says %q", made.controlPlane, made.version, output)
	}
	made.digest, err = digest(os.DirFS(source), made.controlPlane)
	return made, err
}

func tools(names ...string) error {
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("find %q, which this needs: %w", name, err)
		}
	}
	return nil
}

// there tells whether Docker has the image, made of the same sources.
func (i *image) there(ctx context.Context) bool {
	format := fmt.Sprintf("{{index .Config.Labels %q}}", sourceLabel)
	output, err := exec.CommandContext(ctx, "docker", "image", "inspect", "-f", format, i.tag).Output()
	return err == nil && strings.TrimSpace(string(output)) == i.digest
}

// do runs a command, and tells what it said when it fails.
func do(ctx context.Context, folder string, environment []string, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	command.Dir = folder
	command.Env = append(os.Environ(), environment...)
	output, err := command.CombinedOutput()
	if err != nil {
		said := strings.TrimSpace(string(output))
		return said, fmt.Errorf("run %s %s: %w: %s", name, strings.Join(args, " "), err, said[max(0, len(said)-4000):])
	}
	return string(output), nil
}
