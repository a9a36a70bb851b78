package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/dashboards"
	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/run"
	"github.com/transplant-sim/transplant/sim/verdict"
)

const (
	// composeProject is the name of the containers of both compose files, so that one replaces the other.
	composeProject = "transplant-dashboards"
	// grafanaURL is where the compose files publish Grafana.
	grafanaURL = "http://127.0.0.1:3000"
	// grafanaStarts is how long it may take until it answers. Nobody has measured it.
	grafanaStarts = 2 * time.Minute
)

// boards that "dashboards up" starts.
type boards struct {
	folder string
	live   bool
	// compose runs Docker Compose with its arguments.
	compose func(ctx context.Context, out io.Writer, arguments ...string) error
	// grafana is where it answers.
	grafana string
}

func newDashboardsUp() *cobra.Command {
	b := &boards{compose: dockerCompose, grafana: grafanaURL}
	command := &cobra.Command{
		Use: "up [DIR…]", Short: "Load runs, and start Prometheus and Grafana with the dashboards",
		Long: `Load runs, and start Prometheus and Grafana with the dashboards, in Docker.

DIR is the folder of a run, or one with runs in it or further below. The command keeps dashboards and
samples in --folder: a later "up" adds runs, and loads none twice. The files belong to you.

With --live, Prometheus and Grafana share the network of this machine (Linux only). Then they also show
a run that has --metrics-address 127.0.0.1:9740, and a landscape beside "transplant scrape-targets".`,
		Example: `  transplant dashboards up out/seed-loss
  transplant dashboards up out --folder out/boards
  transplant dashboards up --live
  transplant dashboards down`,
		ValidArgsFunction: run.CompleteRuns,
		RunE: func(command *cobra.Command, arguments []string) error {
			return b.up(command.Context(), command.OutOrStdout(), arguments)
		},
	}
	b.folderFlag(command)
	command.Flags().BoolVar(&b.live, "live", false, "show what is running on this machine, too (Linux only)")
	return command
}

func newDashboardsDown() *cobra.Command {
	b := &boards{compose: dockerCompose}
	command := &cobra.Command{
		Use: "down", Short: "Stop Prometheus and Grafana; the loaded runs stay", Args: cobra.NoArgs,
		Example: "  transplant dashboards down",
		RunE: func(command *cobra.Command, _ []string) error {
			if _, err := os.Stat(b.file()); err != nil {
				return fmt.Errorf("stop the dashboards: %w: give --folder as for \"up\"", err)
			}
			return b.run(command.Context(), command.ErrOrStderr(), "down", "--volumes")
		},
	}
	b.folderFlag(command)
	return command
}

func (b *boards) folderFlag(command *cobra.Command) {
	command.Flags().StringVar(&b.folder, "folder", filepath.Join("out", "dashboards"),
		"folder of dashboards, samples and Prometheus's data")
}

func (b *boards) file() string {
	if b.live {
		return filepath.Join(b.folder, "live.yml")
	}
	return filepath.Join(b.folder, "compose.yml")
}

func (b *boards) run(ctx context.Context, out io.Writer, arguments ...string) error {
	return b.compose(ctx, out, append([]string{"--project-name", composeProject, "--file", b.file()}, arguments...)...)
}

func (b *boards) up(ctx context.Context, out io.Writer, folders []string) error {
	if b.live && runtime.GOOS != "linux" {
		return fmt.Errorf("start the dashboards with --live: landscapes are on Linux only, this is %s: leave it out",
			runtime.GOOS)
	}
	runs, err := withSamples(folders)
	if err != nil {
		return err
	}
	if err := errors.Join(keepAssets(b.folder), makeFolders(b.folder)); err != nil {
		return fmt.Errorf("write the dashboards: %w", err)
	}
	fresh, err := b.add(out, runs)
	if err != nil {
		return err
	}
	// Prometheus looks for blocks when it starts.
	if err := b.run(ctx, out, "rm", "--stop", "--force", "-v"); err != nil {
		return err
	}
	if err := b.load(ctx, out); err != nil {
		return err
	}
	if err := b.run(ctx, out, "up", "--detach"); err != nil {
		return err
	}
	if err := b.await(ctx); err != nil {
		return err
	}
	from, to := spanOf(runs)
	fmt.Fprintf(out, "%d runs, %d of them new. Grafana: %s/d/%s%s\nStop it with: transplant dashboards down\n", len(runs),
		fresh, b.grafana, dashboards.HomeUID, rangeOf(from, to))
	return nil
}

// withSamples are the folders of runs that have samples: those given, or those below them.
func withSamples(folders []string) (runs []string, err error) {
	for _, folder := range folders {
		before := len(runs)
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || entry.Name() != metrics.FileName {
				return err
			}
			path, err = filepath.Abs(filepath.Dir(path))
			runs = append(runs, path)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look for runs: %w", err)
		}
		if len(runs) == before {
			return nil, fmt.Errorf("look for runs in %q: no folder below it has a %s: for runs of older versions, "+
				"\"transplant judge --write\" makes it", folder, metrics.FileName)
		}
	}
	slices.Sort(runs)
	return slices.Compact(runs), nil
}

// runLabel is the label of all samples of a run.
var runLabel = regexp.MustCompile(`[{,]run="([A-Za-z0-9._-]+)"`)

// add the samples of runs to those that are to be loaded, and return how many have not been loaded before. A run that
// was judged again has other samples; both would be shown.
func (b *boards) add(out io.Writer, runs []string) (fresh int, err error) {
	for _, run := range runs {
		content, err := os.ReadFile(filepath.Join(run, metrics.FileName))
		if err != nil {
			return 0, fmt.Errorf("read the samples of a run: %w", err)
		}
		label := runLabel.FindSubmatch(content)
		if label == nil {
			return 0, fmt.Errorf("read %s of %q: no sample of it has a label \"run\": \"transplant judge --write\" writes it "+
				"anew", metrics.FileName, run)
		}
		name := fmt.Sprintf("%s-%x.om", label[1], sha256.Sum256(content))
		loaded, err := filepath.Glob(filepath.Join(b.folder, loadedFolder, string(label[1])+"-*.om"))
		if err != nil {
			return 0, err
		}
		if len(loaded) > 0 {
			if filepath.Base(loaded[0]) != name {
				fmt.Fprintf(out, "%s was loaded before, with other samples, which stay: for the new ones give a new --folder\n",
					run)
			}
			continue
		}
		if err := os.WriteFile(filepath.Join(b.folder, runsFolder, name), content, 0o644); err != nil {
			return 0, fmt.Errorf("copy the samples of %q: %w", run, err)
		}
		fresh++
	}
	return fresh, nil
}

// load what is to be loaded. The container moves what it has loaded: Prometheus would take it for new a second time.
func (b *boards) load(ctx context.Context, out io.Writer) error {
	files, err := filepath.Glob(filepath.Join(b.folder, runsFolder, "*.om"))
	if err != nil || len(files) == 0 {
		return err
	}
	past := boards{folder: b.folder, compose: b.compose}
	if err := past.run(ctx, out, "run", "--rm", "load"); err != nil {
		left, _ := filepath.Glob(filepath.Join(b.folder, runsFolder, "*.om")) // the pattern is right
		return fmt.Errorf("load the samples of %d runs, of which %d are left: %w: if it is the first one's fault, remove %s",
			len(files), len(left), err, strings.Join(left[:min(len(left), 1)], ""))
	}
	return nil
}

// await waits until Grafana has our boards, and Prometheus answers through it.
func (b *boards) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, grafanaStarts)
	defer cancel()
	for _, path := range []string{
		"/api/dashboards/uid/" + dashboards.HomeUID,
		"/api/datasources/proxy/uid/" + dashboards.Source + "/api/v1/query?query=1",
	} {
		var last error
		for {
			if last = answers(ctx, b.grafana+path); last == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("wait for the dashboards: %w: docker ps shows whether Prometheus and Grafana run, and "+
					"docker logs why not", last)
			case <-time.After(time.Second):
			}
		}
	}
	return nil
}

func answers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	_ = answer.Body.Close() // nothing of it is used
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return nil
}

// spanOf runs is from the start of the first one to the end of the last; zero if none is judged.
func spanOf(runs []string) (from, to time.Time) {
	for _, run := range runs {
		content, err := os.ReadFile(filepath.Join(run, verdict.FileName))
		report := verdict.Report{}
		if err != nil || json.Unmarshal(content, &report) != nil || report.Started.IsZero() {
			continue // then the boards begin with their own range
		}
		end := report.Started.Add(time.Duration(report.WallSeconds * float64(time.Second)))
		if from.IsZero() || report.Started.Before(from) {
			from = report.Started
		}
		if end.After(to) {
			to = end
		}
	}
	return from, to
}

// rangeOf is the part of Grafana's address that chooses the time, with a minute on both sides.
func rangeOf(from, to time.Time) string {
	if from.IsZero() {
		return ""
	}
	return fmt.Sprintf("?from=%d&to=%d", from.Add(-time.Minute).UnixMilli(), to.Add(time.Minute).UnixMilli())
}

// dockerCompose is Docker's own command, or the older program of that name.
func dockerCompose(ctx context.Context, out io.Writer, arguments ...string) error {
	words := []string{"docker", "compose"}
	if err := exec.CommandContext(ctx, words[0], words[1], "version").Run(); err != nil {
		words = []string{"docker-compose"}
		if _, err := exec.LookPath(words[0]); err != nil {
			return errors.New("find Docker Compose: neither \"docker compose version\" nor docker-compose answers: " +
				"install Docker with Compose")
		}
	}
	command := exec.CommandContext(ctx, words[0], append(words[1:], arguments...)...)
	command.Stdout, command.Stderr = out, out
	command.Env = append(os.Environ(), "DASHBOARDS_USER="+userInContainers(ctx))
	if err := command.Run(); err != nil {
		return fmt.Errorf("run Docker Compose with %v: %w", arguments, err)
	}
	return nil
}

// userInContainers is the user to whom files belong that containers write, if they are to belong to who starts them.
// With a Docker that has no root it is the root of the containers.
func userInContainers(ctx context.Context) string {
	said, err := exec.CommandContext(ctx, "docker", "info", "--format", "{{.SecurityOptions}}").Output()
	if err == nil && strings.Contains(string(said), "name=rootless") {
		return "0:0"
	}
	return fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
}
