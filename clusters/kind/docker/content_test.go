//go:build docker

package docker

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/clusters/clustertest"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// TestAnImageHoldsItsProgramsOnly looks into an image: no shell is in it, nor anything else that it was not given. What
// was built before under its name is gone.
func TestAnImageHoldsItsProgramsOnly(t *testing.T) {
	folder := clustertest.BuildTestPod(t)
	program := filepath.Join(folder, "testpod")
	dir := rundir.At("images", t.TempDir())
	image := Image{Name: "transplant.dev/content:test", Programs: map[string]string{"one": program}}
	t.Cleanup(func() { _, _ = Run(context.Background(), "image", "rm", image.Name) }) // there may be none
	if err := image.Make(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	before, err := image.id(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	image.Programs["two"], image.User = program, "65532:65532"
	if err := image.Make(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), "image", "inspect", before); err == nil || !strings.Contains(err.Error(),
		"No such image") {
		t.Errorf("the image that was replaced is still there: %v", err)
	}
	want := []string{"tmp/", "usr/", "usr/local/", "usr/local/bin/", "usr/local/bin/one", "usr/local/bin/two"}
	if got := content(t, image.Name); !slices.Equal(got, want) {
		t.Errorf("the image holds %q, want %q", got, want)
	}
	if user, err := Run(t.Context(), "image", "inspect", "--format", "{{.Config.User}}", image.Name); err != nil ||
		user != "65532:65532\n" {
		t.Errorf("it runs as %q, %v", user, err)
	}
}

// content of an image, but for what Docker itself puts into every container.
func content(t *testing.T, image string) []string {
	t.Helper()
	id, err := Run(t.Context(), "create", image, "one")
	if err != nil {
		t.Fatal(err)
	}
	id = strings.TrimSpace(id)
	t.Cleanup(func() { _ = Remove(context.Background(), id) }) // nothing more to be done about it
	exported, err := Run(t.Context(), "export", id)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for files := tar.NewReader(strings.NewReader(exported)); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(header.Name, "/")
		if !slices.Contains([]string{".dockerenv", "dev", "etc", "proc", "sys"}, first) {
			names = append(names, header.Name)
		}
	}
	slices.Sort(names)
	return names
}
