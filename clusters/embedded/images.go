package embedded

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// Images every process node knows (ARCHITECTURE, Images).
const (
	TransplantImage   = "transplant.dev/transplant:dev"
	ControlPlaneImage = "transplant.dev/controlplane:v1.37.2"
)

// controlPlanePrograms are the names under which the multi-call binary stands in its image.
var controlPlanePrograms = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl",
	"kwok"}

// Image is a folder of programs under an image's name.
type Image struct {
	Name     string
	Programs map[string]string // by their names in the image, the files on this machine
}

// ImageFolders are all images of a landscape, each as NAME=FOLDER.
func ImageFolders(l *Landscape) []string {
	var all []string
	for _, i := range l.images {
		all = append(all, i.name+"="+i.folder)
	}
	return all
}

// image is one on the disk.
type image struct{ name, folder string }

// writeImages makes the folders. The files are hard links where the disk allows it: a program that is rebuilt while the
// landscape runs does not change under it, and processes of one binary share its text.
func writeImages(dir rundir.Dir, transplant, controlPlane string, more []Image) ([]image, error) {
	kubernetes := Image{Name: ControlPlaneImage, Programs: map[string]string{}}
	for _, program := range controlPlanePrograms {
		kubernetes.Programs[program] = controlPlane
	}
	var images []image
	for _, i := range append([]Image{{TransplantImage, map[string]string{"transplant": transplant}}, kubernetes},
		more...) {
		folder := dir.Join("images", strings.NewReplacer("/", "_", ":", "_").Replace(i.Name))
		if err := i.write(folder); err != nil {
			return nil, err
		}
		images = append(images, image{name: i.Name, folder: folder})
	}
	return images, nil
}

func (i Image) write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of image %q: %w", i.Name, err)
	}
	here := map[string]string{} // what has been copied from another disk: the others are links to it
	for _, program := range slices.Sorted(maps.Keys(i.Programs)) {
		source, target := i.Programs[program], filepath.Join(folder, program)
		if err := linkOrCopy(cmp.Or(here[source], source), target); err != nil {
			return fmt.Errorf("put %q into image %q: %w", program, i.Name, err)
		}
		here[source] = target
	}
	return nil
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
