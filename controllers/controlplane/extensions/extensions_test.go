package extensions

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/crds"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// The defaults of docs/specification/api.md#spec-1-8, and no Extension without a moment.
func TestLifecycleOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		registered *gardencorev1beta1.ControllerRegistration
		want       []Moment
	}{
		"nothing said": {controlplanetest.Registration("x", "", "", ""), []Moment{"AfterKubeAPIServer", "BeforeKubeAPIServer",
			"BeforeKubeAPIServer"}},
		"all said": {controlplanetest.Registration("x", "AfterWorker", "AfterKubeAPIServer", "AfterKubeAPIServer"),
			[]Moment{"AfterWorker", "AfterKubeAPIServer", "AfterKubeAPIServer"}},
		"one said": {controlplanetest.Registration("x", "BeforeKubeAPIServer", "", ""),
			[]Moment{"BeforeKubeAPIServer", "BeforeKubeAPIServer", "BeforeKubeAPIServer"}},
		"for reconcile only": {controlplanetest.Registration("x", "", "AfterWorker", "AfterWorker"),
			[]Moment{"AfterKubeAPIServer", "BeforeKubeAPIServer", "BeforeKubeAPIServer"}},
		"nobody knows it": {controlplanetest.Registration("x", "Never", "Never", "Never"),
			[]Moment{"AfterKubeAPIServer", "BeforeKubeAPIServer", "BeforeKubeAPIServer"}},
	} {
		got := timingOf(c.registered.Spec.Resources[0])
		if diff := cmp.Diff(c.want, []Moment{got.reconcile, got.delete, got.migrate}); diff != "" {
			t.Errorf("%s: reconcile, delete, migrate (-want +got):\n%s", name, diff)
		}
	}
}

// On a real API server each Extension appears at its moment, none twice, and goes at its moment.
func TestExtensionsAtTheirMoments(t *testing.T) {
	t.Parallel()
	config := apiservertest.Start(t, apiservertest.Options{CRDs: slices.Concat(crds.Garden(), crds.Seed())})
	c, err := client.New(config, client.Options{Scheme: controlplanetest.SeedScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}}))
	must(c.Create(t.Context(), controlplanetest.Registration("guard", "BeforeKubeAPIServer", "AfterKubeAPIServer", "")))
	must(c.Create(t.Context(), controlplanetest.Registration("metrics", "AfterWorker", "", "AfterKubeAPIServer")))
	if err := c.Create(t.Context(),
		controlplanetest.Registration("wrong", "", "AfterWorker", "")); !apierrors.IsInvalid(err) {
		t.Errorf("a registration with a moment that deletions do not have: %v", err)
	}
	o := NewExtensions(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{}))
	o.Garden, o.Seed = c, c
	o.Shoot.Spec.Extensions = []gardencorev1beta1.Extension{
		{Type: "metrics", ProviderConfig: &runtime.RawExtension{Raw: []byte(`{"every":"1m"}`)}}, {Type: "certs"},
		{Type: "guard"},
	}
	present := func() []string {
		t.Helper()
		list := &extensionsv1alpha1.ExtensionList{}
		must(c.List(t.Context(), list))
		names := []string{}
		for _, e := range list.Items {
			names = append(names, e.Name)
		}
		return names
	}
	names := func(objects []extensionsv1alpha1.Object, err error) []string {
		t.Helper()
		must(err)
		var found []string
		for _, e := range objects {
			found = append(found, e.GetName())
		}
		return found
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
		want []string
	}{
		{"before the API server", o.Deploy("BeforeKubeAPIServer"), []string{"guard"}},
		{"after the API server", o.Deploy("AfterKubeAPIServer"), []string{"certs", "guard"}},
		{"after the workers", o.Deploy("AfterWorker"), []string{"certs", "guard", "metrics"}},
	} {
		must(step.do(t.Context()))
		if diff := cmp.Diff(step.want, present()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
	if diff := cmp.Diff([]string{"certs", "guard"},
		names(o.present(t.Context(), func(l timing) bool { return l.migrate == "BeforeKubeAPIServer" }))); diff != "" {
		t.Errorf("released before the API server stops (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"metrics"},
		names(o.present(t.Context(), func(l timing) bool { return l.migrate == "AfterKubeAPIServer" }))); diff != "" {
		t.Errorf("released after it (-want +got):\n%s", diff)
	}
	// In the middle of a run it is as it was at its beginning.
	must(c.Delete(t.Context(), controlplanetest.Registration("guard", "", "", "")))
	must(o.Delete("BeforeKubeAPIServer")(t.Context()))
	if diff := cmp.Diff([]string{"guard"}, present()); diff != "" {
		t.Errorf("deleted before the API server (-want +got):\n%s", diff)
	}
	must(o.Delete("AfterKubeAPIServer")(t.Context()))
	if diff := cmp.Diff([]string{}, present()); diff != "" {
		t.Errorf("deleted after it (-want +got):\n%s", diff)
	}
}
