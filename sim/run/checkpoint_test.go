package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// keeping is a small backend whose landscapes can be kept. A world that was kept goes on.
type keeping struct {
	*small
	refuse   error // of a checkpoint
	contents []byte
	kept     *worldtest.World
	resumed  int
	toKeep   []bool // of each landscape that was made
}

var _ Keeper = &keeping{}

func (k *keeping) Claim(name string) (Claim, error) {
	c, err := k.small.Claim(name)
	if err != nil {
		return nil, err
	}
	return keepingClaim{c.(*smallClaim), k}, nil
}

type keepingClaim struct {
	*smallClaim
	by *keeping
}

func (c keepingClaim) Start(ctx context.Context, request Request) (world.World, error) {
	if request.From != nil {
		c.by.resumed++
		return c.by.kept, nil
	}
	c.by.toKeep = append(c.by.toKeep, request.ToKeep)
	w, err := c.smallClaim.Start(ctx, request)
	if err == nil {
		c.by.kept = w.(*worldtest.World)
	}
	return w, err
}

func (*keeping) CheckTarget(folder string) error {
	if folder == "taken" {
		return errors.New("something is there")
	}
	return nil
}

func (k *keeping) Keep(_ context.Context, _ Claim, _ string, contents any) (err error) {
	k.contents, err = json.Marshal(contents)
	return err
}

func (k *keeping) Open(string) (Checkpoint, error) { return k, k.refuse }

func (*keeping) Landscape() string { return "kept" }

func (k *keeping) Read(contents any) error { return json.Unmarshal(k.contents, contents) }

func (k *keeping) runner(out *bytes.Buffer, folder string) *runner {
	return &runner{
		clock: clock.RealClock{}, backends: map[string]Backend{"small": k, "other": k.small}, backend: "small", jobs: 1,
		out: out, metrics: metrics.NewExporter(clock.RealClock{}), folder: folder, randomSeed: 7, stretch: 1,
		patience: impatient,
	}
}

// keep makes a checkpoint for a scenario.
func (k *keeping) keep(t *testing.T, file string) {
	t.Helper()
	r := k.runner(&bytes.Buffer{}, t.TempDir())
	contents, p, err := r.acceptKept(t.Context(), "cp", []string{file})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.keepLandscape(t.Context(), p, contents, "cp"), p.release()); err != nil {
		t.Fatal(err)
	}
}

func uidOf(t *testing.T, w *worldtest.World, shoot string) types.UID {
	t.Helper()
	clients, err := world.NewClients(w)
	if err != nil {
		t.Fatal(err)
	}
	garden, err := clients.Cluster(landscape.Garden)
	if err != nil {
		t.Fatal(err)
	}
	object := &gardencorev1beta1.Shoot{}
	if err := garden.Get(t.Context(), w.ShootKey(shoot), object); err != nil {
		t.Fatal(err)
	}
	return object.UID
}

func TestRun_FromACheckpoint_BeginsWithItsShoots(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := write(t, folder, "moves")
	k := &keeping{small: &small{t: t}}
	k.keep(t, file)
	if k.kept.Stopped() != 1 {
		t.Errorf("the landscape was stopped %d times before it was kept", k.kept.Stopped())
	}
	if !slices.Equal(k.toKeep, []bool{true}) {
		t.Errorf("landscapes were made to be kept: %v, want one that is", k.toKeep)
	}
	before := uidOf(t, k.kept, "alpha")
	var out bytes.Buffer
	r := k.runner(&out, filepath.Join(folder, "out"))
	r.from = "cp"
	p, err := r.accept(t.Context(), []string{file})
	if err == nil {
		err = r.open(p)
	}
	if err == nil {
		err = r.claim(p)
	}
	if err != nil {
		t.Fatal(err)
	}
	if p.names() != "kept" {
		t.Errorf("the landscape is called %s, want as in the checkpoint", p.names())
	}
	if got := r.run(t.Context(), p); got != verdict.Passed {
		t.Fatalf("the run is %s:\n%s", got, out.String())
	}
	if k.resumed != 1 || len(k.started) != 1 {
		t.Errorf("%d landscapes were resumed, and %d made", k.resumed, len(k.started))
	}
	if now := uidOf(t, k.kept, "alpha"); now != before {
		t.Errorf("the shoot is %s, it was %s", now, before)
	}
	record, err := timeline.ReadFile(filepath.Join(folder, "out", timeline.FileName))
	if err != nil {
		t.Fatal(err)
	}
	_, begun, _ := timeline.First[timeline.RunStarted](record.Events)
	if !slices.Contains(begun.BackendFlags, "--from=cp") {
		t.Errorf("the record has the flags %q, without the checkpoint", begun.BackendFlags)
	}
	seen, made := 0, 0
	for _, p := range timeline.Of[timeline.InventorySeen](record.Events) {
		if p.When == timeline.Before {
			seen++
		}
	}
	for _, call := range timeline.Of[timeline.CloudCalled](record.Events) {
		if call.What == "machines" && call.Verb == "create" {
			made++
			if call.Made != 1 {
				t.Errorf("machine %s was made at %d, want the beginning of the run", call.Name, call.Made)
			}
		}
	}
	if seen == 0 || made != 2 {
		t.Errorf("the record has %d inventories of before, and %d of 2 machines", seen, made)
	}
}

func TestRun_FromACheckpoint_RefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	fine := write(t, folder, "moves")
	k := &keeping{small: &small{t: t}}
	k.keep(t, fine)
	const settings, seeds = "    shoots:", "seeds: [{name: a}, {name: b}]"
	for name, c := range map[string]struct {
		file   string
		set    func(*runner)
		broken error
		bare   bool
		want   string
	}{
		"more objects": {file: write(t, folder, "objects", "objects: 20", "objects: 30")},
		"more workers": {file: write(t, folder, "workers", "workers: 2", "workers: 3"),
			want: "workers.yaml:9:13: spec.landscape.shoots: the checkpoint cp has others; make one for this scenario with " +
				`"transplant checkpoint make"`},
		"another seed": {file: write(t, folder, "seeds", seeds, "seeds: [{name: a}, {name: b}, {name: c}]"),
			want: "seeds.yaml:8:12: spec.landscape.seeds: the checkpoint cp has others"},
		"another setting": {file: write(t, folder, "settings", settings, "    settings: {dnsTTL: 2s}\n"+settings),
			want: "spec.landscape.settings: the checkpoint cp has others"},
		"a whitelist": {file: write(t, folder, "tolerable", settings, "    tolerable: [x]\n"+settings),
			want: "spec.landscape.tolerable: the checkpoint cp has others"},
		"a backend without": {file: fine, set: func(r *runner) { r.backend = "other" },
			want: "--from cp: backend other has no checkpoints"},
		"two jobs": {file: fine, set: func(r *runner) { r.jobs = 2 },
			want: "--jobs 2: the landscapes of a checkpoint"},
		"another name": {file: fine, set: func(r *runner) { r.landscape = "mine" },
			want: "the checkpoint cp is kept: leave it out"},
		"a broken one":    {file: fine, broken: errors.New("it is no checkpoint"), want: "it is no checkpoint"},
		"one of \"save\"": {file: fine, bare: true, want: "it was not made for scenarios"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := &keeping{small: k.small, refuse: c.broken, contents: k.contents}
			if c.bare {
				own.contents = []byte("{}")
			}
			r := own.runner(&bytes.Buffer{}, t.TempDir())
			r.from = "cp"
			if c.set != nil {
				c.set(r)
			}
			p, err := r.accept(t.Context(), []string{c.file})
			if err != nil {
				t.Fatal(err)
			}
			switch err = r.open(p); {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestCheckpointMake_RefusesBeforeAnythingIsStarted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	fine, others := write(t, folder, "moves"), write(t, folder, "workers", "workers: 2", "workers: 3")
	for name, c := range map[string]struct {
		files           []string
		target, backend string
		want            string
	}{
		"two landscapes":  {files: []string{fine, others}, target: "cp", want: "the checkpoint for moves has others"},
		"a folder in use": {files: []string{fine}, target: "taken", want: "something is there"},
		"a backend without": {files: []string{fine}, target: "cp", backend: "other",
			want: "backend other has no checkpoints"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &keeping{small: &small{t: t}}
			r := k.runner(&bytes.Buffer{}, t.TempDir())
			if c.backend != "" {
				r.backend = c.backend
			}
			_, _, err := r.acceptKept(t.Context(), c.target, c.files)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(k.started)+len(k.taken) > 0 {
				t.Errorf("error %v, want %q; %d were started", err, c.want, len(k.started))
			}
		})
	}
}
