package admission

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/controllers/validation/fields"
	"github.com/transplant-sim/transplant/controllers/validation/fields/fieldstest"
)

// fieldCases are an object of a kind that is accepted, and changes with which it is refused.
type fieldCases struct {
	Base    map[string]any `json:"base"`
	Refused []refusedCase  `json:"refused"`
}

// refusedCase is refused when it is created with what it sets; with old, when an object with that is changed so. A
// wanted text that ends with … is the beginning of one.
type refusedCase struct {
	Old  map[string]any `json:"old,omitempty"`
	Set  map[string]any `json:"set"`
	Want []string       `json:"want"`
}

func readFieldCases(t *testing.T, kind string) fieldCases {
	t.Helper()
	content, err := os.ReadFile("testdata/fields/" + strings.ToLower(kind) + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases fieldCases
	if err := yaml.UnmarshalStrict(content, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// fieldsGarden has the base object of each kind but Shoot, and the handlers that admission has.
func fieldsGarden(t *testing.T) map[string]admission.Handler {
	t.Helper()
	builder := fake.NewClientBuilder().WithScheme(testScheme(t))
	for _, kind := range fields.Kinds() {
		if kind != "Shoot" {
			builder = builder.WithObjects(&unstructured.Unstructured{Object: readFieldCases(t, kind).Base})
		}
	}
	c := builder.WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if review, asks := o.(*authorizationv1.SubjectAccessReview); asks {
				review.Status.Allowed = true
				return nil
			}
			return c.Create(ctx, o, options...)
		},
	}).Build()
	return map[string]admission.Handler{
		"Shoot":        validatorOf(c),
		"CloudProfile": &profileValidator{client: c, clock: testClock()},
		"Seed":         &seedValidator{client: c},
		"Project":      &projectValidator{client: c},
	}
}

// fieldsRequest writes base with what a case sets.
func fieldsRequest(t *testing.T, kind string, base map[string]any, c refusedCase) admission.Request {
	t.Helper()
	encode := func(sets ...map[string]any) runtime.RawExtension {
		object := runtime.DeepCopyJSON(base)
		for _, set := range sets {
			for _, place := range slices.Sorted(maps.Keys(set)) {
				fieldstest.Set(t, object, place, set[place])
			}
		}
		content, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		return runtime.RawExtension{Raw: content}
	}
	r := admissionv1.AdmissionRequest{Operation: admissionv1.Create, Namespace: "garden-p", Name: "name"}
	r.Kind.Kind, r.Resource.Resource = kind, strings.ToLower(kind)+"s"
	if c.Old != nil {
		r.Operation, r.OldObject = admissionv1.Update, encode(c.Old)
	}
	r.Object = encode(c.Old, c.Set)
	return admission.Request{AdmissionRequest: r}
}

// beginnings takes a text that ends with … for every text that begins so.
var beginnings = cmp.Comparer(func(a, b string) bool {
	begins := func(long, short string) bool {
		begin, cut := strings.CutSuffix(short, "…")
		return cut && strings.HasPrefix(long, begin)
	}
	return a == b || begins(a, b) || begins(b, a)
})

// causes are the errors of an answer, as package field writes them.
func causes(response admission.Response) []string {
	if response.Result == nil || response.Result.Details == nil {
		return nil
	}
	var all []string
	for _, cause := range response.Result.Details.Causes {
		all = append(all, cause.Field+": "+cause.Message)
	}
	return all
}

func TestFields_AcceptedObjects(t *testing.T) {
	t.Parallel()
	handlers := fieldsGarden(t)
	for _, kind := range fields.Kinds() {
		base := readFieldCases(t, kind).Base
		for name, old := range map[string]map[string]any{"created": nil, "not changed": {}} {
			response := handlers[kind].Handle(t.Context(), fieldsRequest(t, kind, base, refusedCase{Old: old}))
			if !response.Allowed {
				t.Errorf("%s %s: %v", kind, name, response.Result)
			}
		}
	}
}

func TestFields_RefusedValues(t *testing.T) {
	t.Parallel()
	handlers := fieldsGarden(t)
	for _, kind := range fields.Kinds() {
		cases := readFieldCases(t, kind)
		for _, c := range cases.Refused {
			name := kind + "/" + strings.Join(slices.Sorted(maps.Keys(c.Set)), ",")
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				response := handlers[kind].Handle(t.Context(), fieldsRequest(t, kind, cases.Base, c))
				if diff := cmp.Diff(c.Want, causes(response), beginnings); diff != "" || response.Allowed {
					t.Errorf("refusals of %v (-want +got):\n%s", c.Set, diff)
				}
			})
		}
	}
}

// Each field of which the table says that values are checked has a value that is refused.
func TestFields_EveryCheckedField_HasARefusedValue(t *testing.T) {
	t.Parallel()
	for _, kind := range fields.Kinds() {
		refused := map[string]bool{}
		for _, c := range readFieldCases(t, kind).Refused {
			for _, want := range c.Want {
				at := pathOf(strings.SplitN(want, ": ", 2)[0])
				refused[at] = true
				for place := range c.Set {
					if path := pathOf(place); strings.HasPrefix(path, at) {
						refused[path] = true
					}
				}
			}
		}
		for _, row := range fields.Of(kind) {
			if row.Rule != "" && !refused[row.Path] {
				t.Errorf("%s %s: no case shows what is refused, although only this is accepted: %s", kind, row.Path,
					row.Rule)
			}
		}
	}
}

// Controllers can change a shoot that was accepted before the rules existed, and users can correct it.
func TestFields_InvalidStoredShoot_CanStillBeChanged(t *testing.T) {
	t.Parallel()
	handlers, base := fieldsGarden(t), readFieldCases(t, "Shoot").Base
	const pool = "spec.provider.workers[0]"
	wrong := map[string]any{
		"spec.region": "nowhere", "spec.purpose": "fun", "spec.hibernation.schedules[0].start": "now",
		"spec.seedName":   nil,
		pool + ".minimum": int64(9), pool + ".machine.type": "huge", pool + ".zones": []any{"nowhere-1"},
		pool + ".taints[0].key":                             "node.kubernetes.io/not-ready",
		"metadata.annotations[shoot.gardener.cloud/ignore]": "yes",
		"spec.kubernetes.kubelet.featureGates[Nothing]":     true,
	}
	with := func(key string, value any) map[string]any {
		set := maps.Clone(wrong)
		set[key] = value
		return set
	}
	for _, c := range []struct {
		name     string
		old, set map[string]any
		want     []string
	}{
		{name: "the scheduler binds it", old: wrong, set: map[string]any{"spec.seedName": "a"}},
		{name: "a schedule puts it to sleep", old: wrong, set: map[string]any{"spec.hibernation.enabled": true}},
		{name: "maintenance asks for a reconciliation", old: wrong,
			set: map[string]any{"metadata.annotations[gardener.cloud/operation]": "reconcile;retry"}},
		{name: "a wrong value becomes right", old: wrong, set: map[string]any{pool + ".minimum": int64(1)}},
		{
			name: "a wrong value becomes another one", old: wrong, set: map[string]any{pool + ".minimum": int64(-9)},
			want: []string{"spec.provider.workers[0].minimum: Invalid value: -9: must be at least 0"},
		},
		{
			name: "in deletion nothing is asked", old: with("metadata.deletionTimestamp", "2026-05-31T00:00:00Z"),
			set: map[string]any{pool + ".minimum": int64(-9)},
		},
		{
			name: "in deletion too nothing becomes what it cannot",
			old:  with("metadata.deletionTimestamp", "2026-05-31T00:00:00Z"),
			set:  map[string]any{"spec.provider.type": "other"},
			want: []string{`spec.provider.type: Invalid value: "other": field is immutable: it is transplant`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			response := handlers["Shoot"].Handle(t.Context(),
				fieldsRequest(t, "Shoot", base, refusedCase{Old: c.old, Set: c.set}))
			if diff := cmp.Diff(c.want, causes(response), beginnings); diff != "" ||
				response.Allowed != (c.want == nil) {
				t.Errorf("allowed: %t, refusals (-want +got):\n%s", response.Allowed, diff)
			}
		})
	}
}

var (
	indexed = regexp.MustCompile(`\[\d+\]`)
	keyed   = regexp.MustCompile(`\[[^\]]+\]`)
)

// pathOf is a place in an object, as the table has it.
func pathOf(place string) string {
	path := indexed.ReplaceAllString(place, "[]")
	if strings.HasPrefix(path, "metadata.") {
		return path
	}
	return keyed.ReplaceAllString(path, "{}")
}

// Each field of which the table says that it is free takes any value.
func TestFields_EveryFreeField_TakesAnyValue(t *testing.T) {
	t.Parallel()
	handlers := fieldsGarden(t)
	for _, kind := range fields.Kinds() {
		base, table := readFieldCases(t, kind).Base, fields.Of(kind)
		for _, leaf := range fields.Leaves(kind) {
			row, _ := table.Find(leaf.Path)
			if row.Free == "" {
				continue
			}
			set := map[string]any{fieldstest.Place(leaf.Path): fieldstest.Sample(t, leaf)}
			response := handlers[kind].Handle(t.Context(), fieldsRequest(t, kind, base, refusedCase{Set: set}))
			warned := slices.ContainsFunc(response.Warnings,
				func(text string) bool { return strings.Contains(text, fieldstest.Place(row.Path)) })
			if !response.Allowed || warned {
				t.Errorf("%s %s is said to be free: %v %v", kind, leaf.Path, causes(response), response.Warnings)
			}
		}
	}
}
