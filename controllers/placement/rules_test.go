package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func TestRestrictions(t *testing.T) {
	t.Parallel()
	wanted := func(names ...string) func(*Question, *gardencorev1beta1.Seed) {
		return func(q *Question, b *gardencorev1beta1.Seed) {
			for _, name := range names {
				q.Shoot.Spec.AccessRestrictions = append(q.Shoot.Spec.AccessRestrictions,
					gardencorev1beta1.AccessRestrictionWithOptions{
						AccessRestriction: gardencorev1beta1.AccessRestriction{Name: name},
					})
			}
			b.Spec.AccessRestrictions = []gardencorev1beta1.AccessRestriction{{Name: "eu-only"}}
		}
	}
	testRule(t, restrictionsSupported, []ruleCase{
		{name: "none wanted", change: wanted()},
		{name: "supported", change: wanted("eu-only")},
		{
			name: "not supported", change: wanted("eu-only", "us-only", "no-one"),
			want: `does not support access restrictions of spec.accessRestrictions: "us-only", "no-one"`,
		},
	})
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	testRule(t, roomLeft, []ruleCase{
		{name: "one place left", change: func(q *Question, _ *gardencorev1beta1.Seed) { q.Usage["b"] = 1 }},
		{
			name: "full", change: func(q *Question, _ *gardencorev1beta1.Seed) { q.Usage["b"] = 2 },
			want: "is full: it has 2 shoots and status.allocatable.shoots is 2",
		},
		{name: "another is full", change: func(q *Question, _ *gardencorev1beta1.Seed) { q.Usage["a"] = 2 }},
		{
			name: "no limit given",
			change: func(q *Question, b *gardencorev1beta1.Seed) {
				q.Usage["b"] = 1000
				b.Status.Allocatable = corev1.ResourceList{}
			},
		},
	})
}

func TestUsageOf(t *testing.T) {
	t.Parallel()
	bound := func(namespace, name string, spec, status *string) gardencorev1beta1.Shoot {
		return gardencorev1beta1.Shoot{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec:       gardencorev1beta1.ShootSpec{SeedName: spec}, Status: gardencorev1beta1.ShootStatus{SeedName: status},
		}
	}
	self := bound("n", "self", ptr.To("a"), ptr.To("a"))
	got := UsageOf([]gardencorev1beta1.Shoot{
		self, bound("other", "self", ptr.To("a"), ptr.To("a")),
		bound("n", "moving", ptr.To("b"), ptr.To("a")), bound("n", "new", ptr.To("b"), nil), bound("n", "unbound", nil, nil),
	}, &self)
	if got["a"] != 2 || got["b"] != 2 || len(got) != 2 {
		t.Errorf("usage %v, want two shoots on each of a and b", got)
	}
}

func TestProfileSelector(t *testing.T) {
	t.Parallel()
	selector := func(s *gardencorev1beta1.SeedSelector) func(*Question, *gardencorev1beta1.Seed) {
		return func(q *Question, _ *gardencorev1beta1.Seed) { q.Profile.Spec.SeedSelector = s }
	}
	labels := func(key, value string) *gardencorev1beta1.SeedSelector {
		return &gardencorev1beta1.SeedSelector{
			LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{key: value}}}
	}
	testRule(t, profileSelects, []ruleCase{
		{name: "no profile", change: func(q *Question, _ *gardencorev1beta1.Seed) { q.Profile = nil }},
		{name: "no selector"},
		{name: "labels match", change: selector(labels("site", "x"))},
		{name: "labels differ", change: selector(labels("site", "y")),
			want: `does not have the labels of the seed selector of CloudProfile "profile": site=y`},
		{
			name: "selector is invalid",
			change: selector(&gardencorev1beta1.SeedSelector{LabelSelector: metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "site", Operator: "Like"}},
			}}),
			want: `cannot be judged: the seed selector of CloudProfile "profile" is invalid: "Like" is not a valid label ` +
				`selector operator`,
		},
	})
}

func TestProvider(t *testing.T) {
	t.Parallel()
	change := func(seed string, types ...string) func(*Question, *gardencorev1beta1.Seed) {
		return func(q *Question, b *gardencorev1beta1.Seed) {
			b.Spec.Provider.Type = seed
			q.Profile.Spec.SeedSelector = &gardencorev1beta1.SeedSelector{ProviderTypes: types}
		}
	}
	both := []ruleCase{
		{name: "listed", change: change("other", "transplant", "other")},
		{name: "any", change: change("other", "*")},
		{
			name: "not listed", change: change("transplant", "other", "third"),
			want: `has provider type "transplant", and CloudProfile "profile" wants one of: other, third`,
		},
	}
	t.Run("chosen", func(t *testing.T) {
		testRule(t, profileProvider, append([]ruleCase{
			{name: "none listed", change: change("other")},
			{name: "no profile", change: func(q *Question, _ *gardencorev1beta1.Seed) { q.Profile = nil }},
		}, both...))
	})
	t.Run("scheduled", func(t *testing.T) {
		testRule(t, providerFits, append([]ruleCase{
			{name: "none listed", change: change("other"),
				want: `has provider type "other", and spec.provider.type wants one of: transplant`},
			{name: "the shoot's own", change: change("transplant")},
		}, both...))
	})
}

func TestShootSelector(t *testing.T) {
	t.Parallel()
	change := func(labels map[string]string, types ...string) func(*Question, *gardencorev1beta1.Seed) {
		return func(q *Question, _ *gardencorev1beta1.Seed) {
			q.Shoot.Spec.SeedSelector = &gardencorev1beta1.SeedSelector{LabelSelector: metav1.LabelSelector{MatchLabels: labels},
				ProviderTypes: types}
		}
	}
	testRule(t, shootSelects, []ruleCase{
		{name: "no selector"},
		{name: "labels match", change: change(map[string]string{"site": "x"})},
		{name: "labels differ", change: change(map[string]string{"site": "y"}),
			want: "does not have the labels of spec.seedSelector: site=y"},
		{name: "provider listed", change: change(nil, "transplant")},
		{name: "provider not listed", change: change(nil, "other"),
			want: `has provider type "transplant", and spec.seedSelector wants one of: other`},
	})
}

func TestDefaultDomain(t *testing.T) {
	t.Parallel()
	change := func(domain string, offered []string, providers ...gardencorev1beta1.DNSProvider) func(*Question,
		*gardencorev1beta1.Seed) {
		return func(q *Question, b *gardencorev1beta1.Seed) {
			q.Shoot.Spec.DNS = &gardencorev1beta1.DNS{Domain: &domain, Providers: providers}
			b.Spec.DNS.Defaults = nil
			for _, d := range offered {
				b.Spec.DNS.Defaults = append(b.Spec.DNS.Defaults, gardencorev1beta1.SeedDNSProviderConfig{Domain: d})
			}
		}
	}
	testRule(t, defaultDomainOffered, []ruleCase{
		{name: "no domain", change: func(_ *Question, b *gardencorev1beta1.Seed) { b.Spec.DNS.Defaults = nil }},
		{name: "offered", change: change("alpha.p.shoots.test", []string{"shoots.test"})},
		{name: "not offered", change: change("alpha.p.shoots.test", []string{"other.test"}),
			want: `does not offer the default domain "shoots.test" of spec.dns.domain`},
		{name: "the longest counts", change: change("alpha.p.eu.shoots.test", []string{"eu.shoots.test"})},
		{name: "no default domain", change: change("alpha.example.com", nil)},
		{name: "only looks like one", change: change("alphashoots.test", nil)},
		{name: "own provider", change: change("alpha.p.shoots.test", nil,
			gardencorev1beta1.DNSProvider{Primary: ptr.To(true)})},
		{name: "further provider", change: change("alpha.p.shoots.test", nil, gardencorev1beta1.DNSProvider{}),
			want: `does not offer the default domain "shoots.test" of spec.dns.domain`},
	})
}

func TestInternalDomain(t *testing.T) {
	t.Parallel()
	testRule(t, sameInternalDomain, []ruleCase{
		{name: "same"},
		{
			name:   "differs",
			change: func(_ *Question, b *gardencorev1beta1.Seed) { b.Spec.DNS.Internal.Domain = "other.test" },
			want:   `has the internal domain "other.test", and that of the source seed "a" is "internal.test"`,
		},
		{
			name:   "missing",
			change: func(_ *Question, b *gardencorev1beta1.Seed) { b.Spec.DNS.Internal = nil },
			want:   `has the internal domain "", and that of the source seed "a" is "internal.test"`,
		},
		{
			name: "source is gone",
			change: func(q *Question, b *gardencorev1beta1.Seed) {
				q.Source = "gone"
				b.Spec.DNS.Internal.Domain = "other.test"
			},
		},
	})
}

func TestBackup(t *testing.T) {
	t.Parallel()
	testRule(t, backedUp, []ruleCase{
		{name: "both"},
		{
			name: "not on the destination", change: func(_ *Question, b *gardencorev1beta1.Seed) { b.Spec.Backup = nil },
			want: "has no spec.backup, so that nothing can be restored on it",
		},
		{
			name: "not on the source", change: func(q *Question, _ *gardencorev1beta1.Seed) { q.Seed("a").Spec.Backup = nil },
			want: `cannot restore what is not backed up: the source seed "a" has no spec.backup`,
		},
		{name: "source is gone", change: func(q *Question, _ *gardencorev1beta1.Seed) { q.Source = "gone" }},
	})
}

func TestZones(t *testing.T) {
	t.Parallel()
	tolerating := func(failure gardencorev1beta1.FailureToleranceType, zones ...string) func(*Question,
		*gardencorev1beta1.Seed) {
		return func(q *Question, b *gardencorev1beta1.Seed) {
			b.Spec.Provider.Zones = zones
			q.Shoot.Spec.ControlPlane = &gardencorev1beta1.ControlPlane{
				HighAvailability: &gardencorev1beta1.HighAvailability{FailureTolerance: gardencorev1beta1.FailureTolerance{
					Type: failure}},
			}
		}
	}
	testRule(t, zonesEnough, []ruleCase{
		{name: "not highly available", change: func(_ *Question, b *gardencorev1beta1.Seed) { b.Spec.Provider.Zones = nil }},
		{name: "node", change: tolerating("node", "1")},
		{name: "zone", change: tolerating("zone", "1", "2", "3")},
		{name: "too few zones", change: tolerating("zone", "1", "2"),
			want: `has 2 zones, and failure tolerance type "zone" needs 3`},
	})
	selecting := func(mode string, worker ...string) func(*Question, *gardencorev1beta1.Seed) {
		return func(q *Question, b *gardencorev1beta1.Seed) {
			b.Spec.Settings = &gardencorev1beta1.SeedSettings{ZoneSelection: &gardencorev1beta1.SeedSettingZoneSelection{
				Mode: mode}}
			q.Shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Zones: worker}}
		}
	}
	testRule(t, zonesOverlap, []ruleCase{
		{name: "no mode"},
		{name: "prefers", change: selecting("Prefer", "9")},
		{name: "overlap enforced", change: selecting("Enforce", "9", "3")},
		{name: "no overlap", change: selecting("Enforce", "8", "9"),
			want: "has none of the zones of the shoot's workers: 8, 9"},
		{name: "no zones", change: selecting("Enforce")},
	})
}

func TestUsable(t *testing.T) {
	t.Parallel()
	testRule(t, notInDeletion, []ruleCase{
		{name: "kept"},
		{name: "in deletion", change: func(_ *Question, b *gardencorev1beta1.Seed) {
			b.DeletionTimestamp = &metav1.Time{}
		}, want: "is being deleted"},
	})
	seen := func(is bool) func(*Question, *gardencorev1beta1.Seed) {
		return func(_ *Question, b *gardencorev1beta1.Seed) {
			b.Spec.Settings = &gardencorev1beta1.SeedSettings{Scheduling: &gardencorev1beta1.SeedSettingScheduling{Visible: is}}
		}
	}
	testRule(t, visible, []ruleCase{
		{name: "not said"}, {name: "visible", change: seen(true)},
		{name: "invisible", change: seen(false), want: "is not visible for scheduling"},
	})
	conditions := func(conditions ...gardencorev1beta1.Condition) func(*Question, *gardencorev1beta1.Seed) {
		return func(_ *Question, b *gardencorev1beta1.Seed) { b.Status.Conditions = conditions }
	}
	up := gardencorev1beta1.Condition{Type: "GardenletReady", Status: "True"}
	testRule(t, ready, []ruleCase{
		{name: "gardenlet ready", change: conditions(up)},
		{name: "no gardenlet", change: conditions(), want: "is not ready: condition GardenletReady is not reported"},
		{name: "gardenlet lost", change: conditions(gardencorev1beta1.Condition{Type: "GardenletReady", Status: "Unknown"}),
			want: "is not ready: condition GardenletReady is Unknown"},
		{name: "bucket fails",
			change: conditions(up, gardencorev1beta1.Condition{Type: "BackupBucketsReady", Status: "False"}),
			want:   "is not ready: condition BackupBucketsReady is False"},
		{name: "only just failing", change: conditions(up, gardencorev1beta1.Condition{Type: "SeedSystemComponentsHealthy",
			Status: "Progressing"})},
		{name: "condition of others", change: conditions(up, gardencorev1beta1.Condition{Type: "Custom", Status: "False"})},
	})
	testRule(t, notStopped, []ruleCase{
		{name: "running", change: conditions(gardencorev1beta1.Condition{Type: "EmergencyStopShootReconciliations",
			Status: "False"})},
		{
			name: "annotated", want: "has stopped the operations on its shoots in an emergency",
			change: func(_ *Question, b *gardencorev1beta1.Seed) {
				b.Annotations = map[string]string{"shoot.gardener.cloud/emergency-stop-reconciliations": "true"}
			},
		},
		{
			name: "condition", want: "has stopped the operations on its shoots in an emergency",
			change: conditions(gardencorev1beta1.Condition{Type: "EmergencyStopShootReconciliations", Status: "True"}),
		},
	})
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	change := func(workers int, pods, services, nodes string) func(*Question, *gardencorev1beta1.Seed) {
		return func(q *Question, _ *gardencorev1beta1.Seed) {
			q.Shoot.Spec.Networking = &gardencorev1beta1.Networking{Pods: &pods, Services: &services, Nodes: &nodes}
			q.Shoot.Spec.Provider.Workers = make([]gardencorev1beta1.Worker, workers)
		}
	}
	testRule(t, networksDisjoint, []ruleCase{
		{name: "not said yet"},
		{name: "disjoint", change: change(1, "10.4.0.0/16", "10.5.0.0/16", "10.6.0.0/16")},
		{name: "pods", change: change(1, "10.2.128.0/17", "10.5.0.0/16", ""),
			want: "has a network that overlaps: its services 10.2.0.0/16 and spec.networking.pods 10.2.128.0/17"},
		{name: "nodes", change: change(1, "", "", "10.0.0.0/8"),
			want: "has a network that overlaps: its pods 10.1.0.0/16 and spec.networking.nodes 10.0.0.0/8"},
		{name: "services", change: change(0, "", "10.3.7.0/24", ""),
			want: "has a network that overlaps: its nodes 10.3.0.0/16 and spec.networking.services 10.3.7.0/24"},
		{name: "workerless has no pods", change: change(0, "10.1.0.0/16", "10.5.0.0/16", "")},
		{name: "other family", change: change(1, "fd00::/48", "", "")},
	})
}
