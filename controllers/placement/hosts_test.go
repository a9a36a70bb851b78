package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
)

func TestHostsOf(t *testing.T) {
	t.Parallel()
	shoot := func(namespace, name string, spec, status *string) gardencorev1beta1.Shoot {
		return gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: gardencorev1beta1.ShootSpec{SeedName: spec}, Status: gardencorev1beta1.ShootStatus{SeedName: status}}
	}
	managed := func(name, shoot string) seedmanagementv1alpha1.ManagedSeed {
		return seedmanagementv1alpha1.ManagedSeed{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: name},
			Spec: seedmanagementv1alpha1.ManagedSeedSpec{Shoot: seedmanagementv1alpha1.Shoot{Name: shoot}}}
	}
	got := HostsOf([]seedmanagementv1alpha1.ManagedSeed{
		managed("moving", "moving"), managed("released", "released"), managed("named", "otherwise"), managed("none", "none"),
	}, []gardencorev1beta1.Shoot{
		shoot("garden-p", "moving", ptr.To("a"), ptr.To("b")), shoot("garden-p", "released", nil, ptr.To("b")),
		shoot("garden-p", "otherwise", ptr.To("c"), nil), shoot("garden-q", "none", ptr.To("d"), nil),
	})
	want := Hosts{}
	for name, hosted := range map[string]Hosted{
		"moving": {By: "a"}, "released": {By: "b"}, "named": {By: "c"}, "none": {},
	} {
		hosted.Shoot = types.NamespacedName{Namespace: "garden-p", Name: name}
		if name == "named" {
			hosted.Shoot.Name = "otherwise"
		}
		want[name] = hosted
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	if got := HostsOf(nil, nil); got != nil {
		t.Errorf("without managed seeds: %v", got)
	}
}

// hosted by others are the seeds named first; the shoot of the question is the seed self, if that is not empty.
func hosted(self string, by map[string]string, more ...func(*Question)) func(*Question, *gardencorev1beta1.Seed) {
	return func(q *Question, _ *gardencorev1beta1.Seed) {
		q.Seeds = append(q.Seeds, seed("c"), seed("first"))
		q.Hosts = Hosts{}
		for name, host := range by {
			shoot := types.NamespacedName{Namespace: "garden-p", Name: "shoot-" + name}
			if name == self {
				shoot.Name = q.Shoot.Name
			}
			q.Hosts[name] = Hosted{Shoot: shoot, By: host}
		}
		for _, change := range more {
			change(q)
		}
	}
}

// status sets that of the condition GardenletReady.
func status(name string, status gardencorev1beta1.ConditionStatus) func(*Question) {
	return func(q *Question) { q.Seed(name).Status.Conditions[0].Status = status }
}

// The seed that is asked about is b.
func TestNoCircle(t *testing.T) {
	t.Parallel()
	testRule(t, noCircle, []ruleCase{
		{name: "no managed seeds"},
		{name: "the shoot is no seed", change: hosted("", map[string]string{"a": "b", "b": "a"})},
		{name: "an unmanaged seed", change: hosted("a", map[string]string{"a": "first"})},
		{
			name: "itself", change: hosted("b", map[string]string{"b": "first"}),
			want: "is the shoot itself",
		},
		{
			name: "a circle of two", change: hosted("a", map[string]string{"a": "first", "b": "a"}),
			want: `is hosted by "a", which is the shoot itself: of two seeds that host each other, the loss of one leaves ` +
				`nobody to restore it`,
		},
		{name: "a ring of three", change: hosted("a", map[string]string{"a": "first", "b": "c", "c": "a"})},
		{name: "another shoot of the same name", change: hosted("a", map[string]string{"a": "first", "b": "a"},
			func(q *Question) { q.Shoot.Namespace = "garden-q" })},
	})
}

func TestOneMemberEach(t *testing.T) {
	t.Parallel()
	testRule(t, oneMemberEach, []ruleCase{
		{name: "no managed seeds"},
		{name: "hosts none", change: hosted("a", map[string]string{"a": "first", "b": "first", "c": "first"})},
		{
			name: "hosts one", change: hosted("a", map[string]string{"a": "first", "b": "first", "c": "b", "d": "b"}),
			want: `is a managed seed and hosts the control plane of the managed seed "c": it may host one`,
		},
		{name: "hosts this one already", change: hosted("a", map[string]string{"a": "b", "b": "first"})},
		{name: "an unmanaged seed hosts several", change: hosted("a", map[string]string{"a": "first", "c": "b", "d": "b"})},
		{name: "the shoot is no seed", change: hosted("", map[string]string{"b": "first", "c": "b"})},
	})
}

func TestHostsWell(t *testing.T) {
	t.Parallel()
	ring := map[string]string{"a": "c", "b": "a", "c": "b"}
	testRule(t, hostsWell, []ruleCase{
		{name: "no managed seeds"},
		{name: "unmanaged", change: hosted("a", map[string]string{"a": "first"}, status("first", "Unknown"))},
		{name: "all is well in a ring", change: hosted("", ring)},
		{
			name: "the host is lost", change: hosted("", ring, status("a", "Unknown")),
			want: `is hosted by "a", which is not ready: condition GardenletReady is Unknown`,
		},
		{
			name: "the host of the host is lost", change: hosted("", ring, status("c", "Unknown")),
			want: `is hosted by "a", which is hosted by "c", which is not ready: condition GardenletReady is Unknown`,
		},
		{name: "the seed itself is not asked", change: hosted("", ring, status("b", "Unknown"))},
		{name: "the shoot's own seed is not asked", change: hosted("a", ring, status("a", "Unknown"))},
		{name: "nor what is above it", change: hosted("a", ring, status("c", "Unknown"))},
		{
			name: "the unmanaged seed at the end is asked", change: hosted("", map[string]string{"b": "first"},
				status("first", "False")),
			want: `is hosted by "first", which is not ready: condition GardenletReady is False`,
		},
		{
			name: "a host that is silent from the start", change: hosted("", map[string]string{"b": "first"},
				func(q *Question) { q.Seed("first").Status.Conditions = nil }),
			want: `is hosted by "first", which is not ready: condition GardenletReady is not reported`,
		},
		{
			name: "a host that is gone", change: hosted("", map[string]string{"b": "away"}),
			want: `is hosted by "away", which does not exist`,
		},
		{name: "hosted by nobody yet", change: hosted("", map[string]string{"b": ""})},
		{name: "hosted by itself", change: hosted("", map[string]string{"b": "b"})},
	})
}

// A ring that has lost a must get b's control plane outside: each of the others hosts a member already.
func TestSchedule_RingThatLostOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, self string
		hosts      map[string]string
		want       string
		excluded   map[string]string
	}{
		{
			name: "three: the control plane of b goes outside", self: "b", want: "first",
			hosts: map[string]string{"a": "c", "b": "a", "c": "b"},
			excluded: map[string]string{
				"b": "is the shoot itself",
				"c": `is hosted by "b", which is the shoot itself: of two seeds that host each other, the loss of one leaves ` +
					`nobody to restore it`,
			},
		},
		{
			name: "three: guests of a go outside until then", want: "first",
			hosts: map[string]string{"a": "c", "b": "a", "c": "b"},
			excluded: map[string]string{
				"b": `is hosted by "a", which is not ready: condition GardenletReady is Unknown`,
				"c": `is hosted by "b", which is hosted by "a", which is not ready: condition GardenletReady is Unknown`,
			},
		},
		{
			name: "four: the control plane of b goes outside, too", self: "b", want: "first",
			hosts: map[string]string{"a": "d", "b": "a", "c": "b", "d": "c"},
			excluded: map[string]string{
				"b": "is the shoot itself",
				"c": `is hosted by "b", which is the shoot itself: of two seeds that host each other, the loss of one leaves ` +
					`nobody to restore it`,
				"d": `is a managed seed and hosts the control plane of the managed seed "a": it may host one`,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := question()
			hosted(c.self, c.hosts, status("a", "Unknown"))(q, nil)
			if _, four := c.hosts["d"]; four {
				q.Seeds = append(q.Seeds, seed("d"))
			}
			got, excluded, err := Schedule(q)
			if err != nil || got != c.want {
				t.Errorf("got %q (%v), want %q", got, err, c.want)
			}
			delete(excluded, "a")
			if diff := cmp.Diff(c.excluded, excluded); diff != "" {
				t.Errorf("excluded (-want +got):\n%s", diff)
			}
		})
	}
}
