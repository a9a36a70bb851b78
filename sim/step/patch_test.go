package step_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/mergepatch"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/world"
)

func merge(t *testing.T, text string) mergepatch.Merge {
	t.Helper()
	var m mergepatch.Merge
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPatch_OfAShoot_IsMerged(t *testing.T) {
	t.Parallel()
	env, _, garden := newEnvironment(t)
	for _, text := range []string{
		`{"metadata":{"annotations":{"a":"1","b":"2"}},"spec":{"kubernetes":{"version":"1.36.3"}}}`,
		`{"metadata":{"annotations":{"a":null}}}`,
	} {
		one := &step.Patch{Shoot: "alpha", Merge: merge(t, text)}
		if err := one.Run(t.Context(), env); err != nil {
			t.Fatalf("%s: %v", one, err)
		}
	}
	shoot := &gardencorev1beta1.Shoot{}
	if err := garden.Get(t.Context(), env.World.ShootKey("alpha"), shoot); err != nil {
		t.Fatal(err)
	}
	_, kept := shoot.Annotations["a"]
	if kept || shoot.Annotations["b"] != "2" || shoot.Spec.Kubernetes.Version != "1.36.3" || *shoot.Spec.SeedName != "a" {
		t.Errorf("annotations %v, version %q", shoot.Annotations, shoot.Spec.Kubernetes.Version)
	}
}

// strict is a world whose garden refuses every change.
type strict struct {
	world.World
	url string
}

func (s strict) Connect(string) (*rest.Config, error) {
	return &rest.Config{Host: s.url, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, nil
}

func refuse(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "spec.tolerations: not on the whitelist",
	})
}

func TestRefusedPatches(t *testing.T) {
	t.Parallel()
	env, _, _ := newEnvironment(t)
	config, err := env.World.Connect(landscape.Garden)
	if err != nil {
		t.Fatal(err)
	}
	garden, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(garden)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			refuse(w)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	mild, unkind := *env, *env
	unkind.World = strict{env.World, server.URL}
	if unkind.Clients, err = world.NewClients(unkind.World); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env     *step.Environment
		refused string
		want    string // "" for success
		unmet   bool
	}{
		"as expected": {&unkind, "whitelist", "", false},
		"for another reason": {&unkind, "window", `it was refused, but with "spec.tolerations: not on the whitelist"`,
			true},
		"our words, not theirs": {&unkind, "alpha", "it was refused, but with", true},
		"admitted":              {&mild, "whitelist", "it was admitted", true},
		"not expected":          {&unkind, "", "not on the whitelist", false},
	} {
		t.Run(name, func(t *testing.T) {
			one := &step.Patch{Shoot: "alpha", Merge: merge(t, `{"spec":{"tolerations":[{"key":"x"}]}}`), Refused: c.refused}
			err := one.Run(t.Context(), c.env)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &step.Unmet{}) != c.unmet {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestCheckPatch(t *testing.T) {
	t.Parallel()
	on := landscape.Landscape{Seeds: []landscape.Seed{{Name: "a"}}, Shoots: []landscape.Shoot{{Name: "alpha", Seed: "a"}}}
	fine := `{"metadata":{"annotations":{"gardener.cloud/operation":"maintain"}},` +
		`"spec":{"kubernetes":{"version":"1.36.3"}}}`
	for _, c := range []struct {
		name  string
		patch step.Patch
		want  []string // fields
	}{
		{"of a shoot", step.Patch{Shoot: "alpha", Merge: merge(t, fine)}, nil},
		{"of the cloud profile",
			step.Patch{CloudProfile: "transplant",
				Merge: merge(t, `{"spec":{"kubernetes":{"versions":[{"version":"1.36.3"}]}}}`)}, nil},
		{"a field that is removed", step.Patch{Shoot: "alpha", Merge: merge(t, `{"spec":{"hibernation":null}}`)}, nil},
		{"of nothing", step.Patch{Merge: merge(t, fine)}, []string{"patch"}},
		{"of both", step.Patch{Shoot: "alpha", CloudProfile: "transplant", Merge: merge(t, fine)}, []string{"patch"}},
		{"of an unknown shoot", step.Patch{Shoot: "omega", Merge: merge(t, fine)}, []string{"patch.shoot"}},
		{"of another cloud profile", step.Patch{CloudProfile: "aws", Merge: merge(t, `{"spec":{}}`)},
			[]string{"patch.cloudProfile"}},
		{"empty", step.Patch{Shoot: "alpha", Merge: merge(t, `{}`)}, []string{"patch.merge"}},
		{"status", step.Patch{Shoot: "alpha", Merge: merge(t, `{"status":{}}`)}, []string{"patch.merge.status"}},
		{"its name", step.Patch{Shoot: "alpha", Merge: merge(t, `{"metadata":{"name":"x"}}`)},
			[]string{"patch.merge.metadata.name"}},
		{"an unknown field",
			step.Patch{Shoot: "alpha", Merge: merge(t, `{"spec":{"provider":{"workers":[{"name":"x"},{"nam":"x"}]}}}`)},
			[]string{"patch.merge.spec.provider.workers[1].nam"}},
		{"a field of another type", step.Patch{Shoot: "alpha", Merge: merge(t, `{"spec":{"kubernetes":{"version":1.36}}}`)},
			[]string{"patch.merge.spec.kubernetes.version"}},
		{"a field of the other object", step.Patch{CloudProfile: "transplant", Merge: merge(t, `{"spec":{"seedName":"a"}}`)},
			[]string{"patch.merge.spec.seedName"}},
		{"what has its own verb",
			step.Patch{Shoot: "alpha", Merge: merge(t, `{"spec":{"seedName":"a","hibernation":{"enabled":true}}}`)},
			[]string{"patch.merge.spec.hibernation.enabled", "patch.merge.spec.seedName"}},
		{"what has its own verb, in vain", step.Patch{Shoot: "alpha", Refused: "no",
			Merge: merge(t, `{"spec":{"hibernation":{"enabled":true}}}`)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, err := range c.patch.Check(field.NewPath("patch"), step.NewState(on, nil)) {
				got = append(got, err.Field)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefused_OfASpec_IsKnown(t *testing.T) {
	t.Parallel()
	for refused, want := range map[string]bool{"": false, "whitelist": true} {
		if got := (&step.Spec{Patch: &step.Patch{Refused: refused}}).Refused(); got != want {
			t.Errorf("refused %q: %t", refused, got)
		}
	}
}

func TestRestoreCloudProfiles_ChangedByARun_AreAsBefore(t *testing.T) {
	t.Parallel()
	env, _, garden := newEnvironment(t)
	profile := &gardencorev1beta1.CloudProfile{}
	raw := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "core.gardener.cloud/v1beta1", "kind": "CloudProfile",
		"metadata": map[string]any{"name": "transplant", "annotations": map[string]any{"a": "b"}},
		"spec": map[string]any{ // our types have no such fields as these
			"type": "transplant", "regions": []any{}, "machineTypes": []any{}, "machineImages": []any{},
			"ofTheFuture": map[string]any{"n": int64(1)},
			"kubernetes": map[string]any{"versions": []any{map[string]any{"version": "1.36.2", "ofTheFuture": true},
				map[string]any{"version": "1.36.3"}}},
		},
	}}
	if err := garden.Create(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	before := raw.DeepCopy()
	versions := func() (all []string) {
		t.Helper()
		if err := garden.Get(t.Context(), client.ObjectKey{Name: "transplant"}, profile); err != nil {
			t.Fatal(err)
		}
		for _, v := range profile.Spec.Kubernetes.Versions {
			all = append(all, v.Version)
		}
		return all
	}
	for _, version := range []string{"1.36.4", "1.36.5"} {
		one := &step.Patch{CloudProfile: "transplant", Merge: merge(t, `{"spec":{"kubernetes":{"versions":[{"version":"`+
			version+`"}]}}}`)}
		if err := one.Run(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{version}, versions()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for range 2 { // again is no harm
		if err := env.RestoreCloudProfiles(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"1.36.2", "1.36.3"}, versions()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"a": "b"}, profile.Annotations); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := garden.Get(t.Context(), client.ObjectKey{Name: "transplant"}, raw); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Object["spec"], raw.Object["spec"]); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}
