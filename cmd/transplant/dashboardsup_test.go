package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inPlaceOfDocker notes what Compose is asked for, and loads samples as the container does.
type inPlaceOfDocker struct {
	asked []string
	fails error
}

func (d *inPlaceOfDocker) compose(_ context.Context, _ io.Writer, arguments ...string) error {
	d.asked = append(d.asked, strings.Join(arguments[4:], " "))
	if arguments[4] != "run" {
		return nil
	}
	if d.fails != nil {
		return d.fails
	}
	folder := filepath.Dir(arguments[3])
	files, _ := filepath.Glob(filepath.Join(folder, "runs", "*.om")) // the pattern is right
	for _, file := range files {
		if err := os.Rename(file, filepath.Join(folder, "loaded", filepath.Base(file))); err != nil {
			return err
		}
	}
	return nil
}

func writeRun(t *testing.T, folder, samples, judged string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"metrics.om": samples, "verdict.json": judged} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func sampleOf(run string) string { return `x{run="` + run + `"} 1` }

func TestDashboardsUp_EachRun_IsLoadedOnce(t *testing.T) {
	t.Parallel()
	grafana := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/dashboards/uid/transplant-home" &&
			r.URL.Path != "/api/datasources/proxy/uid/transplant/api/v1/query" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(grafana.Close)
	root := t.TempDir()
	writeRun(t, filepath.Join(root, "out", "first"), sampleOf("a"), `{"started":"2026-01-02T03:04:00Z","wallSeconds":60}`)
	writeRun(t, filepath.Join(root, "out", "sweep", "second"), sampleOf("b"),
		`{"started":"2026-01-02T03:10:00Z","wallSeconds":60}`)
	docker := &inPlaceOfDocker{fails: errors.New("it has no image")}
	b := &boards{folder: filepath.Join(root, "boards"), compose: docker.compose, grafana: grafana.URL}
	up := func() (string, error) {
		docker.asked = nil
		var out strings.Builder
		err := b.up(t.Context(), &out, []string{filepath.Join(root, "out"), filepath.Join(root, "out", "first")})
		return out.String(), err
	}
	const unloaded = "load the samples of 2 runs, of which 2 are left: it has no image"
	if _, err := up(); err == nil || !strings.Contains(err.Error(), unloaded) {
		t.Errorf("what cannot be loaded: %v", err)
	}
	docker.fails = nil
	out, err := up()
	const link = "/d/transplant-home?from=1767322980000&to=1767323520000"
	if err != nil || !strings.Contains(out, "2 runs, 2 of them new") || !strings.Contains(out, grafana.URL+link) {
		t.Errorf("%v\n%s", err, out)
	}
	const stop = "rm --stop --force -v"
	if want := []string{stop, "run --rm load", "up --detach"}; !slices.Equal(docker.asked, want) {
		t.Errorf("Compose is asked for %q, want %q", docker.asked, want)
	}
	for _, name := range []string{"compose.yml", "live.yml", "grafana/transplant-home.json", "data"} {
		if _, err := os.Stat(filepath.Join(b.folder, name)); err != nil {
			t.Error(err)
		}
	}
	writeRun(t, filepath.Join(root, "out", "third"), sampleOf("c"), "{}")
	out, err = up()
	if err != nil || !strings.Contains(out, "3 runs, 1 of them new") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = up()
	if want := []string{stop, "up --detach"}; err != nil || !slices.Equal(docker.asked, want) {
		t.Errorf("nothing is new: Compose is asked for %q, %v\n%s", docker.asked, err, out)
	}
	writeRun(t, filepath.Join(root, "out", "third"), sampleOf("c")+"\n# judged again", "{}")
	out, err = up()
	if err != nil || !strings.Contains(out, "0 of them new") || !strings.Contains(out, "third was loaded before") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDashboards_Mistakes_NameTheRemedy(t *testing.T) {
	outside(t)
	if err := os.Mkdir("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	for _, c := range []struct{ command, want string }{
		{"dashboards up empty", "transplant judge --write"},
		{"dashboards up none", "no such file"},
		{"dashboards down", "give --folder"},
		{"dashboards up", "install Docker with Compose"}, // this one writes the folder
	} {
		if out, err := say(t, strings.Fields(c.command)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("transplant %s: %v, want %q\n%s", c.command, err, c.want, out)
		}
	}
	if _, err := os.Stat(filepath.Join("out", "dashboards")); err != nil {
		t.Errorf("the dashboards are to be there although Docker is not: %v", err)
	}
}
