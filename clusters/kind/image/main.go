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
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/transplant-sim/transplant/clusters/embedded/binary"
	"github.com/transplant-sim/transplant/clusters/kind/imagebuild"
)

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
	if err := imagebuild.Tools("mmdebstrap", "docker", "go", "tar"); err != nil {
		return err
	}
	made, err := prepare(ctx, source, tag)
	if err != nil {
		return err
	}
	if imagebuild.Present(ctx, made.tag, made.digest) {
		fmt.Printf("node image: %s is there already\n", made.tag)
		return nil
	}
	if made.work, err = os.MkdirTemp("", "node-image-"); err != nil {
		return fmt.Errorf("make the work folder: %w", err)
	}
	defer os.RemoveAll(made.work)
	return imagebuild.Steps(ctx, "node image", made.tag+" is built",
		imagebuild.Step{Name: "programs", Do: made.programs},
		imagebuild.Step{Name: "Debian's packages", Do: made.debian},
		imagebuild.Step{Name: "files of our own", Do: made.files},
		imagebuild.Step{Name: "images of the control plane", Do: made.images},
		imagebuild.Step{Name: "images into the runtime's store", Do: made.store},
		imagebuild.Step{Name: "node image", Do: made.pack},
	)
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
	made.tag = cmp.Or(made.tag, "transplant.dev/node:"+made.version)
	if made.controlPlane, err = binary.Ensure(ctx, nil); err != nil {
		return nil, err
	}
	output, err := imagebuild.Run(ctx, "", nil, made.controlPlane, "kubectl", "version", "--client")
	if err != nil {
		return nil, err
	}
	if !strings.Contains(output, "Client Version: "+made.version+"\n") {
		return nil, fmt.Errorf("take the control-plane binary %q: the other programs are of %s, it says %q",
			made.controlPlane, made.version, output)
	}
	made.digest, err = imagebuild.Digest([]string{source, filepath.Join(source, "..", "imagebuild")}, made.controlPlane)
	return made, err
}
