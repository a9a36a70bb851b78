package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/fault"
	simlandscape "github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// harmed is a landscape with the shoot alpha on seed b, and what faults need.
type harmed struct {
	inProcess
	journal *timeline.Journal
	active  *fault.Active
}

func newHarmed(t *testing.T) *harmed {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { // after the end of the landscape
		if err := goleak.Find(before); err != nil {
			t.Errorf("something of the landscape goes on in this process: %v", err)
		}
	})
	t.Setenv(secretVariable, rand.Text())
	h := &harmed{inProcess: startInProcess(t, "harmed", environment.New(environment.ScenarioSettings)),
		journal: timeline.NewJournal(clock.RealClock{}, nil)}
	h.active = fault.NewActive(h.world, h.journal)
	h.createShoot(t, simlandscape.Shoot{Name: "alpha", Seed: "b"})
	return h
}

func (h *harmed) shootIsWell(ctx context.Context) error { return h.isWell(ctx, "alpha") }

// lost says whether a fault is at work that has taken the whole cluster away.
func (h *harmed) lost(cluster string) bool {
	open := map[string]bool{}
	for _, e := range h.journal.Events() {
		switch p := e.Payload.(type) {
		case timeline.FaultInjected:
			open[e.Subject] = p.Fault == "loseCluster("+cluster+")"
		case timeline.FaultHealed:
			delete(open, e.Subject)
		}
	}
	for _, isLoss := range open {
		if isLoss {
			return true
		}
	}
	return false
}

func (h *harmed) cluster(name string) *embedded.Cluster {
	found, err := h.landscape.Cluster(name)
	if err != nil {
		panic(err) // a name of ours
	}
	return found.(*embedded.Cluster)
}

// complete: the programs and the actors of a cluster run.
func (h *harmed) complete(ctx context.Context, cluster string) error {
	var errs []error
	for _, program := range simlandscape.ClusterPrograms() {
		errs = append(errs, again(h.own(cluster, program))(ctx))
	}
	actors := []string{"gardenlet", "extensions", "gateway"}
	if cluster == simlandscape.Garden {
		actors = []string{"garden-controller-manager"}
	}
	for _, actor := range actors {
		if err := again(h.called(cluster, "transplant", actor))(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s of cluster %q: %w", actor, cluster, err))
		}
	}
	return errors.Join(errs...)
}

// everything that runs in the pods of a cluster.
func (h *harmed) everything(cluster string) func() ([]process.Program, error) {
	return h.containers(cluster, func(process.Program) bool { return true })
}

func (h *harmed) containers(cluster string, match func(process.Program) bool) func() ([]process.Program, error) {
	return func() ([]process.Program, error) {
		all, err := h.cluster(cluster).Containers(context.Background())
		return slices.DeleteFunc(all, func(p process.Program) bool { return !match(p) }), err
	}
}

// called is a container by what it is called with; those of the shoot are by its pods' addresses.
func (h *harmed) called(cluster string, words ...string) func() ([]process.Program, error) {
	return h.containers(cluster, func(p process.Program) bool {
		return len(p.Args) >= len(words) && filepath.Base(p.Args[0]) == words[0] && slices.Equal(p.Args[1:len(words)],
			words[1:])
	})
}

// own is a program of a cluster itself.
func (h *harmed) own(cluster, program string) func() ([]process.Program, error) {
	return func() ([]process.Program, error) {
		id, err := h.cluster(cluster).Program(program)
		return []process.Program{{ID: id}}, err
	}
}

func (h *harmed) answers(cluster string) looked {
	return func(ctx context.Context) error {
		config, err := h.world.Connect(cluster)
		if err != nil {
			return err
		}
		return ask(ctx, config)
	}
}

// eachBackup of all shoots, by its bucket and key.
func (h *harmed) eachBackup(ctx context.Context, see func(name string, content []byte)) error {
	buckets, err := h.world.Cloud().Buckets().List(ctx, cloud.Filter{})
	if err != nil {
		return err
	}
	for _, bucket := range buckets {
		for object, err := range h.world.Cloud().Bucket(bucket.Name).All(ctx, "") {
			if err != nil {
				return err
			}
			content, err := h.world.Cloud().Bucket(bucket.Name).Read(ctx, object.Key)
			if err != nil {
				return err
			}
			see(object.ID, content)
		}
	}
	return nil
}

func (h *harmed) keepBackups(t *testing.T, kept map[string][]byte) {
	t.Helper()
	err := h.eachBackup(t.Context(), func(name string, content []byte) { kept[name] = content })
	if err != nil || len(kept) == 0 {
		t.Fatalf("read %d backups: %v", len(kept), err)
	}
}

// backupsAre as they were; there may be more by now.
func (h *harmed) backupsAre(kept map[string][]byte) looked {
	return func(ctx context.Context) error {
		var errs []error
		err := h.eachBackup(ctx, func(name string, content []byte) {
			if was, known := kept[name]; known && !bytes.Equal(was, content) {
				errs = append(errs, fmt.Errorf("the backup %s is another", name))
			}
		})
		return errors.Join(append(errs, err)...)
	}
}

// missingBackups are those of the kept that are not there while a fault hides them.
type missingBackups struct {
	*harmed
	kept map[string][]byte
	gone []string
}

func (m *missingBackups) some(ctx context.Context) error {
	left := maps.Clone(m.kept)
	err := m.eachBackup(ctx, func(name string, _ []byte) { delete(left, name) })
	if m.gone = slices.Collect(maps.Keys(left)); err == nil && len(m.gone) == 0 {
		err = errors.New("no backup is missing")
	}
	return err
}

// back: old backups may have been collected meanwhile, but the one that was hidden is there again.
func (m *missingBackups) back(ctx context.Context) error {
	there := map[string][]byte{}
	err := m.eachBackup(ctx, func(name string, content []byte) { there[name] = content })
	isBack := func(name string) bool { return bytes.Equal(there[name], m.kept[name]) }
	if err == nil && !slices.ContainsFunc(m.gone, isBack) {
		err = fmt.Errorf("none of %v is there again", m.gone)
	}
	return err
}

// hasData says whether a cluster's etcd has any.
func (h *harmed) hasData(cluster string) looked {
	return func(context.Context) error {
		_, err := os.Stat(h.cluster(cluster).Files().EtcdData())
		return err
	}
}

// markers lie on every disk of seed b.
func (h *harmed) markers() []string {
	disks, err := filepath.Glob(filepath.Join(h.cluster("b").Files().Dir, "volumes", "*"))
	if err != nil {
		panic(err) // a pattern of ours
	}
	for i := range disks {
		disks[i] = filepath.Join(disks[i], "marker")
	}
	return disks
}

func (h *harmed) mark(t *testing.T) {
	t.Helper()
	markers := h.markers()
	if len(markers) == 0 {
		t.Fatal("there is no disk")
	}
	for _, marker := range markers {
		if err := os.WriteFile(marker, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (h *harmed) unmarked(context.Context) error {
	for _, marker := range h.markers() {
		if _, err := os.Stat(marker); err == nil {
			return fmt.Errorf("%s is still there", marker)
		}
	}
	return nil
}
