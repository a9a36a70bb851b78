package probe_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

func journal() *timeline.Journal { return timeline.NewJournal(clock.RealClock{}, nil) }

func TestNodesAreRecordedWhenTheyChange(t *testing.T) {
	t.Parallel()
	_, _, connect := worldtest.Ready(t, 2)
	j := journal()
	nodes := &probe.Nodes{Shoot: "alpha", Connect: connect}
	sample := func() []timeline.NodeSeen {
		before := len(j.Events())
		if err := nodes.Sample(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		var fresh []timeline.NodeSeen
		for _, n := range timeline.Of[timeline.NodeSeen](j.Events()[before:]) {
			fresh = append(fresh, n)
		}
		return fresh
	}
	first := sample()
	if len(first) != 2 || first[0].Name != "node-0" || first[0].UID == "" || first[0].BootID != "boot" ||
		first[0].Ready != "True" || first[0].Renewed == "" {
		t.Errorf("at first %+v", first)
	}
	if again := sample(); len(again) != 0 {
		t.Errorf("without a change %+v", again)
	}
	there := worldtest.ClientOf(t, connect).CoreV1().Nodes()
	if err := there.Delete(t.Context(), "node-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]timeline.NodeSeen{{Name: "node-1", Gone: true}}, sample()); diff != "" {
		t.Errorf("after a deletion (-want +got):\n%s", diff)
	}
}

func TestAnUnseenWayIsNoOutage(t *testing.T) {
	t.Parallel()
	lost := func(context.Context) (*rest.Config, error) { return nil, errors.New("no access") }
	j := journal()
	for _, p := range []probe.Probe{
		&probe.Nodes{Connect: lost}, &probe.Workload{Connect: lost},
	} {
		if err := p.Sample(t.Context(), j); err == nil || !strings.Contains(err.Error(), "no access") {
			t.Errorf("%s: %v", p.Name(), err)
		}
	}
	if len(j.Events()) > 0 {
		t.Errorf("recorded %v", j.Events())
	}
}

func TestEpochsAndRevisions(t *testing.T) {
	t.Parallel()
	w, _, _ := worldtest.Ready(t, 0)
	j := journal()
	if err := (&probe.Epochs{Shoot: "alpha", World: w}).Sample(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	_, seen, _ := timeline.First[timeline.EpochSeen](j.Events())
	if seen.Seed != "a" || seen.Epoch != 1 || seen.Remaining <= 0 || seen.Revision == 0 || seen.Answered < seen.Sent {
		t.Errorf("%+v", seen)
	}
}

// trusting is a world whose control planes are known by a certificate authority.
type trusting struct {
	world.Shoots
	authority []byte
}

func (t trusting) ControlPlanes(ctx context.Context, shoot string) ([]world.ControlPlane, error) {
	planes, err := t.Shoots.ControlPlanes(ctx, shoot)
	for i := range planes {
		planes[i].API = rest.CopyConfig(planes[i].API)
		planes[i].API.CAData, planes[i].ShootUID = t.authority, "of alpha"
	}
	return planes, err
}

// Nobody answers to an authority that is none, but by which one the shoot is known is seen all the same.
func TestEpochs_AnotherAuthority_HasAnotherDigest(t *testing.T) {
	t.Parallel()
	w, _, _ := worldtest.Ready(t, 0)
	digest := func(authority string) string {
		j := journal()
		_ = (&probe.Epochs{Shoot: "alpha", World: trusting{w, []byte(authority)}}).Sample(t.Context(), j)
		_, seen, found := timeline.First[timeline.EpochSeen](j.Events())
		if !found {
			t.Fatal("no epoch was seen")
		}
		if seen.ShootUID != "of alpha" {
			t.Errorf("the authority is of Shoot %q", seen.ShootUID)
		}
		return seen.Authority
	}
	if one, same, other := digest("one"), digest("one"), digest("other"); one == "" || one != same || one == other ||
		digest("") != "" {
		t.Errorf("the digests are %q, %q and %q", one, same, other)
	}
}

func TestTheStateOfAShootIsFollowed(t *testing.T) {
	t.Parallel()
	w, clients, _ := worldtest.Ready(t, 0)
	garden, err := clients.Cluster(landscape.Garden)
	if err != nil {
		t.Fatal(err)
	}
	j := journal()
	follower := &probe.Shoots{Shoot: "alpha", Key: w.ShootKey("alpha"), Garden: garden}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- follower.Follow(ctx, j) }()
	states := func() []string {
		var all []string
		for _, s := range timeline.Of[timeline.ShootSeen](j.Events()) {
			all = append(all, strings.TrimSpace(s.StatusSeed+" "+s.Operation.Type+" "+s.Operation.State))
		}
		return all
	}
	worldtest.Until(t, func() bool { return slices.Contains(states(), "a Create Succeeded") })
	patch(t, clients, w, `{"spec":{"seedName":"b","unmodelledByTransplant":["kept"]}}`)
	worldtest.Until(t, func() bool { return slices.Contains(states(), "b Restore Succeeded") })
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, s := range timeline.Of[timeline.ShootSeen](j.Events()) {
		if want := map[bool]string{true: `["kept"]`}[s.SpecSeed == "b"]; s.Unmodelled != want {
			t.Errorf("bound to %q, the shoot has %q besides what our types know, want %q", s.SpecSeed, s.Unmodelled, want)
		}
	}
	for _, want := range []string{"a Migrate Processing", "a Migrate Succeeded", "b Restore Processing"} {
		if !slices.Contains(states(), want) {
			t.Errorf("%s was missed: %v", want, states())
		}
	}
}

func TestTheLedgerIsFollowed(t *testing.T) {
	t.Parallel()
	started := time.Now().Add(-time.Minute)
	ledger := &ledger{entries: []cloud.LedgerEntry{
		{Seq: 1},
		{Seq: 2, Time: started.Add(3 * time.Second), Identity: "extensions-a", Verb: "create", Kind: "machines", ID: "m",
			Outcome: "OK", Object: json.RawMessage(`{"values":["no name"]}`), Scope: cloud.Scope{Shoot: "s", Epoch: 4}},
		{Seq: 3, Time: started.Add(4 * time.Second), Identity: "extensions-a", Verb: "put", Kind: "records", ID: "z/A/api.s",
			Name: "api.s", Outcome: "OK", Object: json.RawMessage(`{"name":"api.s","values":["127.1.2.3"]}`),
			Scope: cloud.Scope{Shoot: "s", Epoch: 4}},
	}}
	p := &probe.Ledger{Cloud: ledger, Started: started, After: 1}
	j := journal()
	for range 2 {
		if err := p.Sample(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	ledger.fail = errors.New("away")
	if err := p.Sample(t.Context(), j); err == nil || !strings.Contains(err.Error(), "behind entry 3: away") {
		t.Errorf("error %v", err)
	}
	want := []timeline.Event{{Seq: 1, Kind: "CloudCalled", Actor: "extensions-a", Subject: "s",
		Payload: timeline.CloudCalled{
			Number: 2, Epoch: 4, Verb: "create", What: "machines", ID: "m", Outcome: "OK", Took: true,
			Made: timeline.Moment(3 * time.Second),
		}}, {Seq: 2, Kind: "CloudCalled", Actor: "extensions-a", Subject: "s", Payload: timeline.CloudCalled{
		Number: 3, Epoch: 4, Verb: "put", What: "records", ID: "z/A/api.s", Name: "api.s", Values: []string{"127.1.2.3"},
		Outcome: "OK", Took: true, Made: timeline.Moment(4 * time.Second),
	}}}
	got := slices.Clone(j.Events())
	for i := range got {
		got[i].At = 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

type ledger struct {
	entries []cloud.LedgerEntry
	fail    error
}

func (l *ledger) Ledger(_ context.Context, query cloud.LedgerQuery) ([]cloud.LedgerEntry, error) {
	var found []cloud.LedgerEntry
	for _, e := range l.entries {
		if e.Seq > query.After {
			found = append(found, e)
		}
	}
	return found, l.fail
}
