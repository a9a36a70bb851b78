package shootrules

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
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
			old := admissiontest.Shoot()
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

func newTestRequest(t *testing.T, old *gardencorev1beta1.Shoot, c ruleCase) *Request {
	t.Helper()
	wire, err := runtime.DefaultUnstructuredConverter.ToUnstructured(old)
	if err != nil {
		t.Fatal(err)
	}
	admissiontest.In(wire, "spec")["fieldOfTheFuture"] = map[string]any{"on": true}
	raw := &admissionv1.AdmissionRequest{Operation: admissionv1.Update, OldObject: admissiontest.Raw(t, wire)}
	if c.wire != nil {
		c.wire(wire)
	}
	raw.Object = admissiontest.Raw(t, wire)
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
	r, err := NewRequest(raw)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// to binds the shoot to a seed, and annotates it if asked to.
func to(seed string, annotations ...string) func(map[string]any) {
	return func(shoot map[string]any) {
		admissiontest.In(shoot, "spec")["seedName"] = seed
		for _, annotation := range annotations {
			admissiontest.In(shoot, "metadata", "annotations")[annotation] = "true"
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

// plainGarden has seeds a, b and c, to which everything may move.
func plainGarden() *garden {
	g := &garden{usage: placement.Usage{}, profile: admissiontest.Profile(), now: admissiontest.Now}
	for _, name := range []string{"a", "b", "c"} {
		g.seeds = append(g.seeds, admissiontest.Seed(name))
	}
	return g
}

func seedB(change func(b *gardencorev1beta1.Seed)) func(*garden) {
	return func(g *garden) { change(&g.seeds[1]) }
}
