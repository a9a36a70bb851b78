package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// ruleCase changes a question to which the seed "b" is the answer, and says what the rule then holds against it.
type ruleCase struct {
	name   string
	change func(q *Question, b *gardencorev1beta1.Seed)
	want   string
}

func testRule(t *testing.T, r rule, cases []ruleCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := question()
			b := q.Seed("b")
			if c.change != nil {
				c.change(q, b)
			}
			if got := r(q, b); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// question asks where a shoot on seed a may go; seed b fits.
func question() *Question {
	return &Question{
		Shoot: &gardencorev1beta1.Shoot{
			ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "alpha"},
			Spec: gardencorev1beta1.ShootSpec{
				Region: "here", Provider: gardencorev1beta1.Provider{Type: "transplant"},
			},
		},
		Profile: &gardencorev1beta1.CloudProfile{ObjectMeta: metav1.ObjectMeta{Name: "profile"}},
		Seeds:   []gardencorev1beta1.Seed{seed("a"), seed("b")},
		Usage:   Usage{},
		Source:  "a",
	}
}

func seed(name string) gardencorev1beta1.Seed {
	return gardencorev1beta1.Seed{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"site": "x"}},
		Spec: gardencorev1beta1.SeedSpec{
			Backup:   &gardencorev1beta1.Backup{Provider: "transplant"},
			Provider: gardencorev1beta1.SeedProvider{Type: "transplant", Region: "here", Zones: []string{"1", "2", "3"}},
			DNS: gardencorev1beta1.SeedDNS{
				Internal: &gardencorev1beta1.SeedDNSProviderConfig{Domain: "internal.test"},
				Defaults: []gardencorev1beta1.SeedDNSProviderConfig{{Domain: "shoots.test"}},
			},
			Networks: gardencorev1beta1.SeedNetworks{Pods: "10.1.0.0/16", Services: "10.2.0.0/16", Nodes: ptr.To("10.3.0.0/16")},
		},
		Status: gardencorev1beta1.SeedStatus{
			Conditions:  []gardencorev1beta1.Condition{{Type: "GardenletReady", Status: "True"}},
			Allocatable: corev1.ResourceList{"shoots": resource.MustParse("2")},
		},
	}
}

func TestMisfits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(q *Question, b *gardencorev1beta1.Seed)
		want   []string
	}{
		{name: "fits"},
		{
			name:   "health is not asked",
			change: func(_ *Question, b *gardencorev1beta1.Seed) { b.Status.Conditions = nil },
		},
		{
			name: "an invisible seed may be chosen by name",
			change: func(_ *Question, b *gardencorev1beta1.Seed) {
				b.Spec.Settings = &gardencorev1beta1.SeedSettings{Scheduling: &gardencorev1beta1.SeedSettingScheduling{}}
			},
		},
		{
			name: "the health of the hosts is not asked",
			change: func(q *Question, _ *gardencorev1beta1.Seed) {
				q.Hosts = Hosts{"b": {By: "a"}}
				q.Seed("a").Status.Conditions = nil
			},
		},
		{
			name: "managed seeds",
			change: func(q *Question, _ *gardencorev1beta1.Seed) {
				q.Hosts = Hosts{"b": {By: "self"}, "c": {By: "b"}, "self": {Shoot: keyOf(q.Shoot)}}
			},
			want: []string{
				`is hosted by "self", which is the shoot itself: of two seeds that host each other, the loss of one leaves ` +
					`nobody to restore it`,
				`is a managed seed and hosts the control plane of the managed seed "c": it may host one`,
			},
		},
		{
			name: "all misfits are returned",
			change: func(_ *Question, b *gardencorev1beta1.Seed) {
				b.DeletionTimestamp = &metav1.Time{}
				b.Spec.Backup = nil
				b.Spec.Taints = []gardencorev1beta1.SeedTaint{{Key: "t"}}
			},
			want: []string{
				"is being deleted", `has taints that spec.tolerations does not tolerate: "t"`,
				"has no spec.backup, so that nothing can be restored on it",
			},
		},
		{
			name: "a first binding asks for no backup and no internal domain",
			change: func(q *Question, b *gardencorev1beta1.Seed) {
				q.Source = ""
				b.Spec.Backup = nil
				b.Spec.DNS.Internal = nil
			},
		},
		{
			name:   "a profile without provider types lets a seed of another provider be chosen",
			change: func(_ *Question, b *gardencorev1beta1.Seed) { b.Spec.Provider.Type = "other" },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := question()
			b := q.Seed("b")
			if c.change != nil {
				c.change(q, b)
			}
			if diff := cmp.Diff(c.want, q.Misfits(b)); diff != "" {
				t.Errorf("misfits (-want +got):\n%s", diff)
			}
		})
	}
}
