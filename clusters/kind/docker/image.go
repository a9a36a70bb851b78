package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// Image is a folder of programs under a name: nothing else is in it, no shell either. The programs are in its PATH.
type Image struct {
	Name     string
	Programs map[string]string // by their names in the image, the files on this machine; they are static
	User     string            // "uid:gid"; empty for root
}

// Archive has Docker make the images, and returns the archive of all, with those that it has already; empty when
// there are none.
func Archive(ctx context.Context, dir rundir.Dir, images []Image, local []string) (string, error) {
	if len(images)+len(local) == 0 {
		return "", nil
	}
	work, err := os.MkdirTemp(dir.Path, "images-")
	if err != nil {
		return "", fmt.Errorf("make the folder of images: %w", err)
	}
	defer os.RemoveAll(work)
	var names []string
	for n, image := range images {
		if err := image.build(ctx, filepath.Join(work, fmt.Sprint(n))); err != nil {
			return "", fmt.Errorf("build the image %q: %w", image.Name, err)
		}
		names = append(names, image.Name)
	}
	archive := dir.Join("images.tar")
	arguments, err := saveArguments(ctx, local)
	if err == nil {
		_, err = Run(ctx, slices.Concat([]string{"save", "--output", archive}, arguments, names, local)...)
	}
	return archive, err
}

// saveArguments are more of docker save, for images that it has already. Where Docker keeps an image as a list of
// platforms, it would save the list, of which nodes import all, and has pulled but its own (kubernetes-sigs/kind#3795).
func saveArguments(ctx context.Context, local []string) ([]string, error) {
	for _, name := range local {
		image, err := inspect(ctx, name)
		if err != nil {
			return nil, err
		}
		if list := image.Descriptor.MediaType; !strings.Contains(list, "index") && !strings.Contains(list, "manifest.list") {
			continue
		}
		platform, err := serverPlatform(ctx)
		return []string{"--platform", platform}, err
	}
	return nil, nil
}

// Make builds the image, with work in a run directory, and leaves it in Docker.
func (i Image) Make(ctx context.Context, dir rundir.Dir) error {
	work, err := os.MkdirTemp(dir.Path, "image-")
	if err != nil {
		return fmt.Errorf("make the folder of image %q: %w", i.Name, err)
	}
	defer os.RemoveAll(work)
	if err := i.build(ctx, filepath.Join(work, "root")); err != nil {
		return fmt.Errorf("build the image %q: %w", i.Name, err)
	}
	return nil
}

// build lays the programs out in a folder and makes an image of it. Programs of one file are one file and links.
func (i Image) build(ctx context.Context, folder string) error {
	programs := filepath.Join(folder, "usr", "local", "bin")
	if err := os.MkdirAll(programs, 0o755); err != nil {
		return fmt.Errorf("make the folder of programs: %w", err)
	}
	temporary := filepath.Join(folder, "tmp")
	if err := errors.Join(os.Mkdir(temporary, 0o777), os.Chmod(temporary, 0o1777|os.ModeSticky)); err != nil {
		return fmt.Errorf("make the folder for temporary files: %w", err)
	}
	first := map[string]string{} // the name that a file has in the image
	for _, name := range slices.Sorted(maps.Keys(i.Programs)) {
		file, target := i.Programs[name], filepath.Join(programs, name)
		if other, there := first[file]; there {
			if err := os.Symlink(other, target); err != nil {
				return fmt.Errorf("link the program %q: %w", name, err)
			}
			continue
		}
		first[file] = name
		if err := place(file, target); err != nil {
			return err
		}
	}
	text := "FROM scratch\nCOPY . /\nENV PATH=/usr/local/bin\n"
	if i.User != "" {
		text += "USER " + i.User + "\n"
	}
	dockerfile := folder + ".dockerfile"
	if err := os.WriteFile(dockerfile, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the Dockerfile: %w", err)
	}
	return i.replace(ctx, func() error {
		_, err := Run(ctx, "build", "--quiet", "--tag", i.Name, "--file", dockerfile, folder)
		return err
	})
}

// replace builds the image, and removes the one that had its name: without one, of every change of a program something
// would be left. Where it runs somewhere it stays.
func (i Image) replace(ctx context.Context, build func() error) error {
	before, err := i.id(ctx)
	if err != nil {
		return err
	}
	if err := build(); err != nil {
		return err
	}
	now, err := i.id(ctx)
	if err == nil && before != "" && before != now {
		_, _ = Run(ctx, "image", "rm", before) // Docker knows who needs it
	}
	return err
}

// id of the image that has the name now; empty when none has.
func (i Image) id(ctx context.Context) (string, error) {
	output, err := Run(ctx, "images", "--quiet", "--no-trunc", i.Name)
	return strings.TrimSpace(output), err
}

// place puts a static program into an image. One that needs the system's libraries would not start there.
func place(file, target string) error {
	if err := CheckProgram(file); err != nil {
		return fmt.Errorf("put the program %q into an image: %w", file, err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	if err := os.WriteFile(target, content, 0o755); err != nil {
		return fmt.Errorf("write the program: %w", err)
	}
	return nil
}

// HasImage says whether Docker has an image.
func HasImage(ctx context.Context, name string) (bool, error) {
	id, err := Image{Name: name}.id(ctx)
	return id != "", err
}
