package placement

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func TestSchedule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		change   func(q *Question)
		want     string
		excluded map[string]string
	}{
		{
			name: "the shoot's region", want: "c",
			change: func(q *Question) {
				q.Seeds[0].Spec.Provider.Region, q.Seeds[1].Spec.Provider.Region = "her", "there"
				q.Usage["c"] = 1
			},
			excluded: map[string]string{"a": `fits, but seed "c" is in the shoot's region`,
				"b": `fits, but seed "c" is in the shoot's region`},
		},
		{
			name: "the nearest", want: "b",
			change: func(q *Question) {
				q.Seeds[0].Spec.Provider.Region, q.Seeds[1].Spec.Provider.Region, q.Seeds[2].Spec.Provider.Region = "eu-west-9",
					"here-2", "here-22"
			},
			excluded: map[string]string{"a": `fits, but seed "b" is nearer`, "c": `fits, but seed "b" is nearer`},
		},
		{
			name: "the fewest shoots", want: "b",
			change: func(q *Question) { q.Usage = Usage{"a": 1, "c": 1} },
			excluded: map[string]string{
				"a": `fits, but seed "b" has fewer shoots`, "c": `fits, but seed "b" has fewer shoots`,
			},
		},
		{
			name: "the first by name", want: "a",
			excluded: map[string]string{"b": `fits, but seed "a" comes first by name`,
				"c": `fits, but seed "a" comes first by name`},
		},
		{
			name: "the own provider before the region", want: "b",
			change: func(q *Question) {
				q.Profile.Spec.SeedSelector = &gardencorev1beta1.SeedSelector{ProviderTypes: []string{"*"}}
				q.Seeds[0].Spec.Provider.Type, q.Seeds[2].Spec.Provider.Type = "other", "other"
				q.Seeds[1].Spec.Provider.Region = "far away"
			},
			excluded: map[string]string{"a": `fits, but seed "b" is of the shoot's provider`,
				"c": `fits, but seed "b" is of the shoot's provider`},
		},
		{
			name: "the first filter gives the reason", want: "c",
			change: func(q *Question) {
				q.Seeds[0].DeletionTimestamp = &metav1.Time{}
				q.Seeds[0].Spec.Taints = []gardencorev1beta1.SeedTaint{{Key: "t"}}
				q.Seeds[1].Spec.Taints = []gardencorev1beta1.SeedTaint{{Key: "t"}}
			},
			excluded: map[string]string{"a": "is being deleted", "b": `has taints that spec.tolerations does not tolerate: "t"`},
		},
		{
			name: "a move leaves its seed, and asks for backups and the internal domain", want: "c",
			change: func(q *Question) {
				q.Source = "a"
				q.Seeds[1].Spec.Backup = nil
			},
			excluded: map[string]string{"a": "is the seed that the shoot is to leave",
				"b": "has no spec.backup, so that nothing can be restored on it"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := question()
			q.Source = ""
			q.Seeds = append(q.Seeds, seed("c"))
			if c.change != nil {
				c.change(q)
			}
			got, excluded, err := Schedule(q)
			if err != nil || got != c.want {
				t.Errorf("got %q (%v), want %q", got, err, c.want)
			}
			if diff := cmp.Diff(c.excluded, excluded); diff != "" {
				t.Errorf("excluded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScheduleNowhere(t *testing.T) {
	t.Parallel()
	q := question()
	q.Source = ""
	q.Seeds = append(q.Seeds, seed("c"))
	q.Seeds[0].Status.Conditions = nil
	q.Usage["b"] = 2
	q.Seeds[2].Status.Conditions = nil
	_, excluded, err := Schedule(q)
	if nowhere := (&NoSeedFitsError{}); !errors.As(err, &nowhere) || len(nowhere.Excluded) != 3 || len(excluded) != 3 {
		t.Fatalf("got error %v and %v, want all three seeds excluded", err, excluded)
	}
	want := "no seed fits: a, c is not ready: condition GardenletReady is not reported; " +
		"b is full: it has 2 shoots and status.allocatable.shoots is 2"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	q.Seeds = nil
	if _, _, err = Schedule(q); err == nil || err.Error() != "no seed fits: there is none" {
		t.Errorf("without seeds: got %v", err)
	}
}

// TestFiltersInOrder shows that every filter of docs/specification/nodes-and-seeds.md#spec-7-2 is asked, in its order:
// a seed that fails all has the reason of the first; mended step by step, by the next.
func TestFiltersInOrder(t *testing.T) {
	t.Parallel()
	q := question()
	q.Source = ""
	q.Seeds = q.Seeds[:1]
	mends := breakEverything(q, &q.Seeds[0])
	for i, mend := range mends {
		_, excluded, err := Schedule(q)
		if err == nil || excluded["a"] != mend.why {
			t.Fatalf("filter %d: got %q (%v), want %q", i, excluded["a"], err, mend.why)
		}
		mend.mend()
	}
	if seed, _, err := Schedule(q); err != nil || seed != "a" {
		t.Errorf("mended: got %q, %v", seed, err)
	}
	if got, want := len(mends), len(schedulingRules()); got != want {
		t.Errorf("%d filters are asked here, and there are %d", got, want)
	}
}

type mended struct {
	why  string
	mend func()
}

func breakEverything(q *Question, a *gardencorev1beta1.Seed) []mended {
	good, shoot := a.DeepCopy(), q.Shoot
	a.DeletionTimestamp = &metav1.Time{}
	a.Spec.Settings = &gardencorev1beta1.SeedSettings{
		Scheduling:    &gardencorev1beta1.SeedSettingScheduling{},
		ZoneSelection: &gardencorev1beta1.SeedSettingZoneSelection{Mode: "Enforce"},
	}
	a.Status.Conditions = nil
	a.Labels = nil
	a.Spec.Provider = gardencorev1beta1.SeedProvider{Type: "other", Region: "here"}
	a.Spec.DNS.Defaults = nil
	a.Annotations = map[string]string{"shoot.gardener.cloud/emergency-stop-reconciliations": "true"}
	a.Spec.Taints = []gardencorev1beta1.SeedTaint{{Key: "t"}}
	q.Usage["a"] = 2
	q.Profile.Spec.SeedSelector = &gardencorev1beta1.SeedSelector{
		LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"site": "x"}}}
	shoot.Spec.SeedSelector = &gardencorev1beta1.SeedSelector{
		LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"mine": "yes"}}}
	shoot.Spec.ControlPlane = &gardencorev1beta1.ControlPlane{
		HighAvailability: &gardencorev1beta1.HighAvailability{FailureTolerance: gardencorev1beta1.FailureTolerance{
			Type: "zone"}},
	}
	shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Zones: []string{"9"}}}
	shoot.Spec.AccessRestrictions = []gardencorev1beta1.AccessRestrictionWithOptions{
		{AccessRestriction: gardencorev1beta1.AccessRestriction{Name: "r"}}}
	domain, pods := "alpha.shoots.test", "10.1.0.0/16"
	shoot.Spec.DNS = &gardencorev1beta1.DNS{Domain: &domain}
	shoot.Spec.Networking = &gardencorev1beta1.Networking{Pods: &pods}
	unseen := seed("unseen") // offers the default domain, and is never chosen
	unseen.DeletionTimestamp = &metav1.Time{}
	q.Hosts = Hosts{
		"a":    {By: "self"},
		"a2":   {By: "a"},
		"self": {Shoot: types.NamespacedName{Namespace: shoot.Namespace, Name: shoot.Name}},
	}
	q.Seeds = append([]gardencorev1beta1.Seed{*a}, unseen)
	a = &q.Seeds[0]
	return []mended{
		{"is being deleted", func() { a.DeletionTimestamp = nil }},
		{"is not visible for scheduling", func() { a.Spec.Settings.Scheduling = nil }},
		{"is not ready: condition GardenletReady is not reported", func() { a.Status.Conditions = good.Status.Conditions }},
		{`does not have the labels of the seed selector of CloudProfile "profile": site=x`, func() {
			a.Labels = map[string]string{"site": "x"}
		}},
		{"does not have the labels of spec.seedSelector: mine=yes", func() { a.Labels["mine"] = "yes" }},
		{`has provider type "other", and spec.provider.type wants one of: transplant`, func() {
			a.Spec.Provider.Type = "transplant"
		}},
		{`has 0 zones, and failure tolerance type "zone" needs 3`, func() {
			a.Spec.Provider.Zones = good.Spec.Provider.Zones
		}},
		{"has none of the zones of the shoot's workers: 9", func() { a.Spec.Settings = nil }},
		{`does not support access restrictions of spec.accessRestrictions: "r"`, func() {
			shoot.Spec.AccessRestrictions = nil
		}},
		{`does not offer the default domain "shoots.test" of spec.dns.domain`, func() { a.Spec.DNS = good.Spec.DNS }},
		{"has stopped the operations on its shoots in an emergency", func() { a.Annotations = nil }},
		{`has taints that spec.tolerations does not tolerate: "t"`, func() { a.Spec.Taints = nil }},
		{"is full: it has 2 shoots and status.allocatable.shoots is 2", func() { q.Usage["a"] = 0 }},
		{"has a network that overlaps: its pods 10.1.0.0/16 and spec.networking.pods 10.1.0.0/16", func() {
			shoot.Spec.Networking = nil
		}},
		{`is hosted by "self", which is the shoot itself: of two seeds that host each other, the loss of one leaves nobody ` +
			`to restore it`, func() { q.Hosts["a"] = Hosted{By: "host"} }},
		{`is a managed seed and hosts the control plane of the managed seed "a2": it may host one`, func() {
			delete(q.Hosts, "a2")
		}},
		{`is hosted by "host", which does not exist`, func() { delete(q.Hosts, "a") }},
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"eu-west-1", "eu-west-1", 0},
		{"eu-west-1", "eu-west-2", 1},
		{"eu-west-1", "eu-central-1", 5},
		{"", "abc", 3},
		{"abc", "", 3},
		{"kitten", "sitting", 3},
		{"süd", "sud", 1},
	} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := Distance(c.b, c.a); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
