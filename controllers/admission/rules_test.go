package admission

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/placement"
)

// ruleCase is a request on the shoot alpha, which runs on seed a, and what all rules together say to it. The case
// begins with old; wire then changes what is written, as JSON, so that it can also write fields which no type has.
type ruleCase struct {
	name   string
	old    func(old *gardencorev1beta1.Shoot)
	wire   func(shoot map[string]any)
	garden func(g *garden)
	// create and remove stand for the operations; without them it is UPDATE.
	create, remove bool
	// policy is with what propagation policy it is removed.
	policy metav1.DeletionPropagation
	want   []string
}

func testRules(t *testing.T, cases []ruleCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			old := alpha()
			if c.old != nil {
				c.old(old)
			}
			g := plainGarden()
			if c.garden != nil {
				c.garden(g)
			}
			var got []string
			r := newTestRequest(t, old, c)
			for _, judge := range shootRules() {
				for _, err := range judge(r, g) {
					got = append(got, err.Error())
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
		})
	}
}

func newTestRequest(t *testing.T, old *gardencorev1beta1.Shoot, c ruleCase) *request {
	t.Helper()
	wire, err := runtime.DefaultUnstructuredConverter.ToUnstructured(old)
	if err != nil {
		t.Fatal(err)
	}
	in(wire, "spec")["fieldOfTheFuture"] = map[string]any{"on": true}
	raw := &admissionv1.AdmissionRequest{Operation: admissionv1.Update, OldObject: encode(t, wire)}
	if c.wire != nil {
		c.wire(wire)
	}
	raw.Object = encode(t, wire)
	switch {
	case c.create:
		raw.Operation, raw.OldObject = admissionv1.Create, runtime.RawExtension{}
	case c.remove:
		raw.Operation, raw.Object = admissionv1.Delete, runtime.RawExtension{}
		if c.policy != "" {
			raw.Options = runtime.RawExtension{Raw: fmt.Appendf(nil,
				`{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","propagationPolicy":%q}`, c.policy)}
		}
	}
	r, err := newRequest(raw)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func encode(t *testing.T, wire map[string]any) runtime.RawExtension {
	t.Helper()
	raw, err := json.Marshal(wire)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: raw}
}

// in is a field that is an object; it is made if it is missing.
func in(wire map[string]any, fields ...string) map[string]any {
	for _, name := range fields {
		next, ok := wire[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			wire[name] = next
		}
		wire = next
	}
	return wire
}

// to binds the shoot to a seed, and annotates it if asked to.
func to(seed string, annotations ...string) func(map[string]any) {
	return func(shoot map[string]any) {
		in(shoot, "spec")["seedName"] = seed
		for _, annotation := range annotations {
			in(shoot, "metadata", "annotations")[annotation] = "true"
		}
	}
}

// last sets lastOperation and, if given, spec.seedName and status.seedName.
func last(operation gardencorev1beta1.LastOperationType, state gardencorev1beta1.LastOperationState,
	seeds ...string) func(*gardencorev1beta1.Shoot) {
	return func(shoot *gardencorev1beta1.Shoot) {
		shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: operation, State: state}
		if len(seeds) == 2 {
			shoot.Spec.SeedName, shoot.Status.SeedName = &seeds[0], &seeds[1]
		}
	}
}

// unbound is a shoot that no scheduler has seen yet.
func unbound(shoot *gardencorev1beta1.Shoot) {
	shoot.Spec.SeedName = nil
	shoot.Status = gardencorev1beta1.ShootStatus{}
}

func alpha() *gardencorev1beta1.Shoot {
	return &gardencorev1beta1.Shoot{
		TypeMeta:   metav1.TypeMeta{APIVersion: "core.gardener.cloud/v1beta1", Kind: "Shoot"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "alpha"},
		Spec: gardencorev1beta1.ShootSpec{
			SeedName: ptr.To("a"), Region: "here", Kubernetes: gardencorev1beta1.Kubernetes{Version: "1.36.3"},
			Provider: gardencorev1beta1.Provider{Type: "transplant", Workers: []gardencorev1beta1.Worker{{
				Name: "pool", Maximum: 3,
				Machine: gardencorev1beta1.Machine{
					Type: "medium", Image: &gardencorev1beta1.ShootMachineImage{Name: "simulated", Version: ptr.To("1.1.0")},
				},
			}}},
		},
		Status: gardencorev1beta1.ShootStatus{
			SeedName:      ptr.To("a"),
			LastOperation: &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Succeeded"},
		},
	}
}

// plainGarden has seeds a, b and c, to which everything may move.
func plainGarden() *garden {
	g := &garden{usage: placement.Usage{}, profile: testProfile(), now: testNow}
	for _, name := range []string{"a", "b", "c"} {
		g.seeds = append(g.seeds, testSeed(name))
	}
	return g
}

func testSeed(name string) gardencorev1beta1.Seed {
	return gardencorev1beta1.Seed{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: gardencorev1beta1.SeedSpec{
			Backup:   &gardencorev1beta1.Backup{Provider: "transplant"},
			Provider: gardencorev1beta1.SeedProvider{Type: "transplant", Region: "here", Zones: []string{"1", "2", "3"}},
			DNS:      gardencorev1beta1.SeedDNS{Internal: &gardencorev1beta1.SeedDNSProviderConfig{Domain: "internal.test"}},
			Networks: gardencorev1beta1.SeedNetworks{Pods: "10.1.0.0/16", Services: "10.2.0.0/16"},
		},
		Status: gardencorev1beta1.SeedStatus{Allocatable: corev1.ResourceList{"shoots": resource.MustParse("2")}},
	}
}

func seedB(change func(b *gardencorev1beta1.Seed)) func(*garden) {
	return func(g *garden) { change(&g.seeds[1]) }
}

// testNow is when requests of rule tests are judged.
var testNow = time.Date(2026, time.June, 1, 0, 0, 0, 0, time.UTC)

// testProfile offers Kubernetes 1.34 to 1.36, and an image whose first version has expired.
func testProfile() *gardencorev1beta1.CloudProfile {
	past, preview := &metav1.Time{Time: testNow.Add(-time.Hour)}, gardencorev1beta1.ClassificationPreview
	containerd := []gardencorev1beta1.CRI{{Name: gardencorev1beta1.CRINameContainerD}}
	image := func(version string, expires *metav1.Time) gardencorev1beta1.MachineImageVersion {
		return gardencorev1beta1.MachineImageVersion{
			ExpirableVersion: gardencorev1beta1.ExpirableVersion{Version: version, ExpirationDate: expires},
			CRI:              containerd, Architectures: []string{"amd64"},
			InPlaceUpdates: &gardencorev1beta1.InPlaceUpdates{Supported: true, MinVersionForUpdate: ptr.To("1.0.0")},
		}
	}
	return &gardencorev1beta1.CloudProfile{
		ObjectMeta: metav1.ObjectMeta{Name: "profile"},
		Spec: gardencorev1beta1.CloudProfileSpec{
			Type: "transplant",
			Regions: []gardencorev1beta1.Region{{Name: "here", Zones: []gardencorev1beta1.AvailabilityZone{
				{Name: "here-1"}, {Name: "here-2"}, {Name: "here-3"},
			}}},
			Kubernetes: gardencorev1beta1.KubernetesSettings{Versions: []gardencorev1beta1.ExpirableVersion{
				{Version: "1.34.1", ExpirationDate: past}, {Version: "1.34.2"}, {Version: "1.35.0"}, {Version: "1.36.3"},
				{Version: "1.36.4", Classification: &preview},
			}},
			MachineImages: []gardencorev1beta1.MachineImage{{
				Name: "simulated", Versions: []gardencorev1beta1.MachineImageVersion{image("1.0.0", past), image("1.1.0", nil),
					image("1.2.0", nil)},
			}},
			MachineTypes: []gardencorev1beta1.MachineType{
				{Name: "medium", CPU: resource.MustParse("4"), GPU: resource.MustParse("0"), Memory: resource.MustParse("16Gi")},
				{Name: "large", CPU: resource.MustParse("8"), GPU: resource.MustParse("0"), Memory: resource.MustParse("32Gi")},
			},
		},
	}
}
