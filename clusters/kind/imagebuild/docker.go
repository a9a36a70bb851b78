package imagebuild

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sourceLabel of an image is the digest of what it was made of.
const sourceLabel = "dev.transplant.source"

// Label is the line of a Dockerfile by which [Present] knows the image again.
func Label(digest string) string { return fmt.Sprintf("LABEL %s=%s", sourceLabel, digest) }

// Present says whether Docker has the image, made of the same sources.
func Present(ctx context.Context, tag, digest string) bool {
	format := fmt.Sprintf("{{index .Config.Labels %q}}", sourceLabel)
	output, err := exec.CommandContext(ctx, "docker", "image", "inspect", "-f", format, tag).Output()
	return err == nil && strings.TrimSpace(string(output)) == digest
}

// Digest of everything an image is made of that can change without Debian: the sources, without their tests, and
// programs.
func Digest(sources []string, programs ...string) (string, error) {
	hash := sha256.New()
	add := func(file string) error {
		content, err := os.Open(file)
		if err != nil {
			return err
		}
		defer content.Close()
		_, err = io.Copy(hash, content)
		return err
	}
	for _, source := range sources {
		err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name, err := filepath.Rel(source, path)
			if err != nil {
				return err
			}
			fmt.Fprintln(hash, name)
			return add(path)
		})
		if err != nil {
			return "", fmt.Errorf("read the sources: %w", err)
		}
	}
	for _, program := range programs {
		if err := add(program); err != nil {
			return "", fmt.Errorf("read the program: %w", err)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// SearchPath is the line of a Dockerfile that says where programs are looked for.
const SearchPath = "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Build makes an image of the files in a folder by the lines of a Dockerfile.
func Build(ctx context.Context, folder string, lines []string, tags ...string) error {
	file := folder + ".dockerfile"
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the Dockerfile: %w", err)
	}
	args := []string{"build", "--quiet", "--file", file}
	for _, tag := range tags {
		args = append(args, "--tag", tag)
	}
	// the classic builder needs no image of its own
	_, err := Run(ctx, "", []string{"DOCKER_BUILDKIT=0"}, "docker", append(args, folder)...)
	return err
}
