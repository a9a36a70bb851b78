package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// Images every process node knows (ARCHITECTURE, Images).
const (
	TransplantImage   = "transplant.dev/transplant:dev"
	ControlPlaneImage = "transplant.dev/controlplane:v1.36.3"
)

// controlPlanePrograms are the names under which the multi-call binary stands in its image.
var controlPlanePrograms = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok"}

// image is a folder of binaries under an image's name.
type image struct{ name, folder string }

// writeImages makes the folders. The files are hard links where the disk allows it: a program that is rebuilt while the
// landscape runs does not change under it, and processes of one binary share its text.
func writeImages(dir rundir.Dir, transplant, controlPlane string) ([]image, error) {
	var images []image
	for _, i := range []struct {
		name, binary string
		programs     []string
	}{
		{TransplantImage, transplant, []string{"transplant"}},
		{ControlPlaneImage, controlPlane, controlPlanePrograms},
	} {
		folder := dir.Join("images", strings.NewReplacer("/", "_", ":", "_").Replace(i.name))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, fmt.Errorf("make the folder of image %q: %w", i.name, err)
		}
		source := i.binary
		for _, program := range i.programs {
			target := filepath.Join(folder, program)
			if err := linkOrCopy(source, target); err != nil {
				return nil, fmt.Errorf("put %q into image %q: %w", program, i.name, err)
			}
			source = target // after a copy to another disk, the others are links to it
		}
		images = append(images, image{name: i.name, folder: folder})
	}
	return images, nil
}

func linkOrCopy(source, target string) error {
	// A link to a symbolic link would dangle inside the image.
	source, err := filepath.EvalSymlinks(source)
	if err != nil {
		return err
	}
	if os.Link(source, target) == nil {
		return nil
	}
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}
