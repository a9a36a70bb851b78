package shootrules

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
	"github.com/transplant-sim/transplant/controllers/placement"
)

// TestDestination has the rows of docs/specification/migration.md#spec-2-2 that ask about the seeds.
func TestDestination(t *testing.T) {
	t.Parallel()
	invalid := func(why string) []string {
		return []string{`spec.seedName: Invalid value: "b": the seed ` + why + "; seeds that fit: c"}
	}
	testRules(t, []ruleCase{
		{
			name: "destination does not exist", wire: to("x"),
			want: []string{`spec.seedName: Unsupported value: "x": supported values: "b", "c"`},
		},
		{
			name: "created on a seed that does not exist", create: true, wire: to("x"),
			want: []string{`spec.seedName: Unsupported value: "x": supported values: "a", "b", "c"`},
		},
		{
			name: "destination is being deleted", wire: to("b"), want: invalid("is being deleted"),
			garden: seedB(func(b *gardencorev1beta1.Seed) { b.DeletionTimestamp = &metav1.Time{} }),
		},
		{
			name: "destination's taints are not tolerated", wire: to("b"),
			want: invalid(`has taints that spec.tolerations does not tolerate: "t=v"`),
			garden: seedB(func(b *gardencorev1beta1.Seed) {
				b.Spec.Taints = []gardencorev1beta1.SeedTaint{{Key: "t", Value: ptr.To("v")}}
			}),
		},
		{
			name: "access restrictions are not supported", wire: to("b"),
			old: func(s *gardencorev1beta1.Shoot) {
				s.Spec.AccessRestrictions = []gardencorev1beta1.AccessRestrictionWithOptions{
					{AccessRestriction: gardencorev1beta1.AccessRestriction{Name: "eu"}}}
			},
			garden: func(g *garden) {
				g.seeds[2].Spec.AccessRestrictions = []gardencorev1beta1.AccessRestriction{{Name: "eu"}}
			},
			want: invalid(`does not support access restrictions of spec.accessRestrictions: "eu"`),
		},
		{
			name: "destination is at capacity", wire: to("b"), garden: func(g *garden) { g.usage["b"] = 2 },
			want: invalid("is full: it has 2 shoots and status.allocatable.shoots is 2"),
		},
		{
			name: "labels of the CloudProfile's selector do not match", wire: to("b"),
			garden: func(g *garden) {
				g.profile.Spec.SeedSelector = &gardencorev1beta1.SeedSelector{
					LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"site": "x"}}}
				g.seeds[2].Labels = map[string]string{"site": "x"}
			},
			want: invalid(`does not have the labels of the seed selector of CloudProfile "profile": site=x`),
		},
		{
			name: "provider types of the CloudProfile do not match", wire: to("b"),
			garden: func(g *garden) {
				g.profile.Spec.SeedSelector = &gardencorev1beta1.SeedSelector{ProviderTypes: []string{"other"}}
				g.seeds[2].Spec.Provider.Type = "other"
			},
			want: invalid(`has provider type "transplant", and CloudProfile "profile" wants one of: other`),
		},
		{
			name: "destination has no backup", wire: to("b"),
			want:   invalid("has no spec.backup, so that nothing can be restored on it"),
			garden: seedB(func(b *gardencorev1beta1.Seed) { b.Spec.Backup = nil }),
		},
		{
			name: "source has no backup", wire: to("b"), garden: func(g *garden) { g.seeds[0].Spec.Backup = nil },
			want: []string{`spec.seedName: Invalid value: "b": the seed cannot restore what is not backed up: the source ` +
				`seed "a" has no spec.backup; no seed fits`},
		},
		{
			name: "internal domain differs", wire: to("b"),
			want:   invalid(`has the internal domain "other.test", and that of the source seed "a" is "internal.test"`),
			garden: seedB(func(b *gardencorev1beta1.Seed) { b.Spec.DNS.Internal.Domain = "other.test" }),
		},
		{
			name: "two seeds would host each other", wire: to("b"),
			want: invalid(`is hosted by "self", which is the shoot itself: of two seeds that host each other, the loss of ` +
				`one leaves nobody to restore it`),
			garden: func(g *garden) {
				alpha := types.NamespacedName{Namespace: "garden-p", Name: "alpha"}
				g.hosts = placement.Hosts{"b": {By: "self"}, "self": {Shoot: alpha, By: "a"}}
			},
		},
		{
			name: "default domain is not offered", wire: to("b"),
			old: func(s *gardencorev1beta1.Shoot) {
				s.Spec.DNS = &gardencorev1beta1.DNS{Domain: ptr.To("alpha.p.shoots.test")}
			},
			garden: func(g *garden) {
				for _, i := range []int{0, 2} {
					g.seeds[i].Spec.DNS.Defaults = []gardencorev1beta1.SeedDNSProviderConfig{{Domain: "shoots.test"}}
				}
			},
			want: invalid(`does not offer the default domain "shoots.test" of spec.dns.domain`),
		},
		{
			name: "failure tolerance zone and fewer than three zones", wire: to("b"),
			old: func(s *gardencorev1beta1.Shoot) {
				s.Spec.ControlPlane = &gardencorev1beta1.ControlPlane{HighAvailability: &gardencorev1beta1.HighAvailability{
					FailureTolerance: gardencorev1beta1.FailureTolerance{Type: "zone"}}}
			},
			garden: seedB(func(b *gardencorev1beta1.Seed) { b.Spec.Provider.Zones = []string{"1", "2"} }),
			want:   invalid(`has 2 zones, and failure tolerance type "zone" needs 3`),
		},
		{
			name: "networks overlap", wire: to("b"),
			want: invalid("has a network that overlaps: its pods 10.9.0.0/16 and spec.networking.pods 10.9.1.0/24"),
			old: func(s *gardencorev1beta1.Shoot) {
				s.Spec.Networking = &gardencorev1beta1.Networking{Pods: ptr.To("10.9.1.0/24")}
			},
			garden: seedB(func(b *gardencorev1beta1.Seed) { b.Spec.Networks.Pods = "10.9.0.0/16" }),
		},
		{
			name: "destination is unhealthy: accepted", wire: to("b"),
			garden: seedB(func(b *gardencorev1beta1.Seed) {
				b.Status.Conditions = []gardencorev1beta1.Condition{{Type: "GardenletReady", Status: "Unknown"}}
			}),
		},
		{
			name: "several reasons", wire: to("b"),
			garden: func(g *garden) { g.usage["b"], g.seeds[1].Spec.Backup = 5, nil },
			want: []string{
				`spec.seedName: Invalid value: "b": the seed is full: it has 5 shoots and status.allocatable.shoots is 2`,
				`spec.seedName: Invalid value: "b": the seed has no spec.backup, so that nothing can be restored on it; seeds ` +
					`that fit: c`,
			},
		},
		{
			name: "the first seed must be able to run it", old: unbound, wire: to("b"), garden: func(g *garden) {
				g.usage["b"] = 2
			},
			want: []string{`spec.seedName: Invalid value: "b": the seed is full: it has 2 shoots and ` +
				`status.allocatable.shoots is 2; seeds that fit: a, c`},
		},
		{name: "the first seed needs no backup", create: true, wire: to("b"), garden: seedB(func(b *gardencorev1beta1.Seed) {
			b.Spec.Backup = nil
		})},
		{
			name: "a forced restore has to fit too", old: last("Restore", "Processing", "b", "b"), wire: to("c", force),
			garden: func(g *garden) { g.usage["c"] = 2 },
			want: []string{`spec.seedName: Invalid value: "c": the seed is full: it has 2 shoots and ` +
				`status.allocatable.shoots is 2; seeds that fit: a`},
		},
		{
			name: "the source seed is not known", wire: to("b"), garden: func(g *garden) { g.seeds = g.seeds[1:] },
			want: []string{`spec.seedName: Invalid value: "b": the seed cannot be compared with the source seed "a", which ` +
				`does not exist: ` +
				`only annotation shoot.gardener.cloud/force-restore=true lets the shoot leave it; seeds that fit: b, c`},
		},
		{name: "the source seed is not known, forced", wire: to("b", force), garden: func(g *garden) {
			g.seeds = g.seeds[1:]
		}},
		{
			name: "a move is called off and the shoot stays where it is", old: last("Reconcile", "Succeeded", "b", "a"),
			wire:   to("a"),
			garden: func(g *garden) { g.seeds[0].Spec.Taints = []gardencorev1beta1.SeedTaint{{Key: "drained"}} },
		},
		{
			name: "a seed that does not fit is not looked at when the seed stays", garden: func(g *garden) { g.seeds = nil },
			wire: func(shoot map[string]any) { admissiontest.In(shoot, "spec")["purpose"] = "testing" },
		},
	})
}
