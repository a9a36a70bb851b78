package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/clusters/executable"
)

// CheckProgram says why a program would not start in an image that holds nothing but programs.
func CheckProgram(file string) error {
	program, err := executable.Open(file)
	switch {
	case err != nil:
		return err
	case program.Script:
		return fmt.Errorf("is a script, and its image holds no %s: give an image in place of a binary", program.Interpreter)
	case !program.Static():
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

// Digest is the SHA-256 sum that is the ID of an image, in hexadecimal digits.
func Digest(ctx context.Context, name string) (string, error) {
	image, err := inspect(ctx, name)
	return strings.TrimPrefix(image.ID, "sha256:"), err
}

// inspected is what Docker says of an image.
type inspected struct {
	ID               string `json:"Id"`
	RepoTags         []string
	Os, Architecture string
	Config           struct{ Entrypoint, Cmd []string }
	Descriptor       struct{ MediaType string } // of its store of containerd only
}

func inspect(ctx context.Context, name string) (image inspected, err error) {
	output, err := Run(ctx, "image", "inspect", "--format", "{{json .}}", name)
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
	output, err := Run(ctx, "version", "--format", "{{.Server.Os}}/{{.Server.Arch}}")
	return strings.TrimSpace(output), err
}
