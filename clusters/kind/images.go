package kind

import (
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"sigs.k8s.io/kind/pkg/cluster/nodeutils"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// Image is a folder of programs under a name: nothing else is in it, no shell either. The programs are in its PATH.
type Image struct {
	Name     string
	Programs map[string]string // by their names in the image, the files on this machine; they are static
	User     string            // "uid:gid"; empty for root
}

// buildImages has Docker make the images, and returns the archive of all, with those that it has already; empty when
// there are none.
func buildImages(ctx context.Context, dir rundir.Dir, images []Image, local []string) (string, error) {
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
		_, err = docker(ctx, slices.Concat([]string{"save", "--output", archive}, arguments, names, local)...)
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

// make builds an image that no node gets.
func (i Image) make(ctx context.Context, dir rundir.Dir) error {
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
	names := make([]string, 0, len(i.Programs))
	for name := range i.Programs {
		names = append(names, name)
	}
	slices.Sort(names)
	first := map[string]string{} // the name that a file has in the image
	for _, name := range names {
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
		_, err := docker(ctx, "build", "--quiet", "--tag", i.Name, "--file", dockerfile, folder)
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
		_, _ = docker(ctx, "image", "rm", before) // Docker knows who needs it
	}
	return err
}

// id of the image that has the name now; empty when none has.
func (i Image) id(ctx context.Context) (string, error) {
	output, err := docker(ctx, "images", "--quiet", "--no-trunc", i.Name)
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

// CheckProgram says why a program would not start in an image that holds nothing but programs.
func CheckProgram(file string) error {
	program, err := elf.Open(file)
	missing := (*fs.PathError)(nil)
	switch {
	case errors.As(err, &missing):
		return err
	case err != nil:
		return fmt.Errorf("it is no program of Linux: %w", err)
	}
	defer program.Close()
	processors := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	if ours, known := processors[runtime.GOARCH]; known && program.Machine != ours {
		return fmt.Errorf("it is for another processor (%s): build it with GOARCH=%s", program.Machine, runtime.GOARCH)
	}
	if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return errors.New("it is not static: build it with CGO_ENABLED=0")
	}
	return nil
}

// CheckImage says why nodes could not be given an image by its name, or could not start it without a command.
func CheckImage(ctx context.Context, name string, commanded bool) error {
	image, err := inspect(ctx, name)
	if err != nil {
		if strings.Contains(strings.ToLower(err.Error()), "no such image") {
			return fmt.Errorf("there is no image %q in the Docker of this machine: pull or build it first", name)
		}
		return err
	}
	platform, err := serverPlatform(ctx)
	if err != nil {
		return err
	}
	switch its := image.Os + "/" + image.Architecture; {
	case !slices.Contains(image.RepoTags, tagged(name)):
		return fmt.Errorf("nodes know images by name and tag, and Docker has this one as %q: give one of these, or make "+
			"one with docker tag", image.RepoTags)
	case its != platform:
		return fmt.Errorf("it is for %s, and the nodes are %s: pull or build it with --platform %s", its, platform, platform)
	case !commanded && len(image.Config.Entrypoint)+len(image.Config.Cmd) == 0:
		return errors.New("nothing says what to start in it: give the extension's spec.command, or the image an ENTRYPOINT")
	}
	return nil
}

// inspected is what Docker says of an image.
type inspected struct {
	RepoTags         []string
	Os, Architecture string
	Config           struct{ Entrypoint, Cmd []string }
	Descriptor       struct{ MediaType string } // of its store of containerd only
}

func inspect(ctx context.Context, name string) (image inspected, err error) {
	output, err := docker(ctx, "image", "inspect", "--format", "{{json .}}", name)
	if err != nil {
		return image, err
	}
	if err := json.Unmarshal([]byte(output), &image); err != nil {
		return image, fmt.Errorf("read what Docker says of image %q: %w", name, err)
	}
	return image, nil
}

// tagged is the name as Docker lists it: without its own registry, and with a tag.
func tagged(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "docker.io/"), "library/")
	if !strings.Contains(name[strings.LastIndex(name, "/")+1:], ":") {
		name += ":latest"
	}
	return name
}

// serverPlatform is that of the nodes.
func serverPlatform(ctx context.Context) (string, error) {
	output, err := docker(ctx, "version", "--format", "{{.Server.Os}}/{{.Server.Arch}}")
	return strings.TrimSpace(output), err
}

// HasImage says whether Docker has an image.
func HasImage(ctx context.Context, name string) (bool, error) {
	id, err := Image{Name: name}.id(ctx)
	return id != "", err
}

// load puts the images of an archive into the node's store.
func (c *Cluster) load(ctx context.Context, archive string) error {
	if archive == "" {
		return nil
	}
	nodes, err := c.provider.ListInternalNodes(c.full)
	if err != nil {
		return fmt.Errorf("list the nodes of cluster %q: %w", c.name, err)
	}
	for _, node := range nodes {
		file, err := os.Open(archive)
		if err != nil {
			return fmt.Errorf("open the archive of images: %w", err)
		}
		err = errors.Join(explain(nodeutils.LoadImageArchive(node, file)), file.Close(), ctx.Err())
		if err != nil {
			return fmt.Errorf("load images into cluster %q: %w", c.name, err)
		}
	}
	return nil
}

// dropImages removes the archive, which is large: no node is made anew any more.
func (l *Landscape) dropImages() error {
	if err := os.Remove(l.images); l.images != "" && err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the archive of images: %w", err)
	}
	return nil
}
