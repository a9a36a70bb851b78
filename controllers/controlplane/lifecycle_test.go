package controlplane

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/crds"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
)

// registration is that of one type of Extensions; empty moments are not said.
func registration(name string, reconcile, remove, migrate Moment,
	with ...func(*gardencorev1beta1.ControllerResource)) *gardencorev1beta1.ControllerRegistration {
	said := func(moment Moment) *Moment {
		if moment == "" {
			return nil
		}
		return &moment
	}
	resource := gardencorev1beta1.ControllerResource{Kind: "Extension", Type: name}
	if reconcile != "" || remove != "" || migrate != "" {
		resource.Lifecycle = &gardencorev1beta1.ControllerResourceLifecycle{Reconcile: said(reconcile), Delete: said(remove),
			Migrate: said(migrate)}
	}
	for _, change := range with {
		change(&resource)
	}
	return &gardencorev1beta1.ControllerRegistration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       gardencorev1beta1.ControllerRegistrationSpec{Resources: []gardencorev1beta1.ControllerResource{resource}},
	}
}

// The defaults of docs/specification/api.md#spec-1-8, and no Extension without a moment.
func TestLifecycleOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		registered *gardencorev1beta1.ControllerRegistration
		want       []Moment
	}{
		"nothing said": {registration("x", "", "", ""), []Moment{"AfterKubeAPIServer", "BeforeKubeAPIServer",
			"BeforeKubeAPIServer"}},
		"all said": {registration("x", "AfterWorker", "AfterKubeAPIServer", "AfterKubeAPIServer"),
			[]Moment{"AfterWorker", "AfterKubeAPIServer", "AfterKubeAPIServer"}},
		"one said": {registration("x", "BeforeKubeAPIServer", "", ""),
			[]Moment{"BeforeKubeAPIServer", "BeforeKubeAPIServer", "BeforeKubeAPIServer"}},
		"for reconcile only": {registration("x", "", "AfterWorker", "AfterWorker"),
			[]Moment{"AfterKubeAPIServer", "BeforeKubeAPIServer", "BeforeKubeAPIServer"}},
		"nobody knows it": {registration("x", "Never", "Never", "Never"),
			[]Moment{"AfterKubeAPIServer", "BeforeKubeAPIServer", "BeforeKubeAPIServer"}},
	} {
		got := lifecycleOf(c.registered.Spec.Resources[0])
		if diff := cmp.Diff(c.want, []Moment{got.reconcile, got.delete, got.migrate}); diff != "" {
			t.Errorf("%s: reconcile, delete, migrate (-want +got):\n%s", name, diff)
		}
	}
}

// What is registered with autoEnable is there without being asked for, and not where it does not fit or is switched
// off.
func TestExtensionsThatEnableThemselves(t *testing.T) {
	t.Parallel()
	auto := func(types ...gardencorev1beta1.ClusterType) func(*gardencorev1beta1.ControllerResource) {
		return func(r *gardencorev1beta1.ControllerResource) { r.AutoEnable = types }
	}
	workerless := func(r *gardencorev1beta1.ControllerResource) { r.WorkerlessSupported = ptr.To(true) }
	inGarden := []client.Object{
		registration("certs", "", "", "", auto("shoot")), registration("lean", "", "", "", auto("shoot"), workerless),
		registration("off", "", "", "", auto("shoot"), workerless), registration("seeds", "", "", "", auto("seed")),
		registration("plain", "", "", ""),
		registration("second", "", "", "", auto("shoot"), func(r *gardencorev1beta1.ControllerResource) {
			r.Primary = ptr.To(false)
		}),
		registration("other", "", "", "", auto("shoot"), func(r *gardencorev1beta1.ControllerResource) {
			r.Kind = "Network"
		}),
	}
	for name, c := range map[string]struct {
		workers int
		want    []string
	}{
		"with workers": {1, []string{"asked", "certs", "lean"}},
		"workerless":   {0, []string{"asked", "lean"}},
	} {
		o, _ := onSeedA(t, gardencorev1beta1.LastOperationTypeReconcile, inGarden, interceptor.Funcs{})
		o.Shoot.Spec.Extensions = []gardencorev1beta1.Extension{{Type: "asked"}, {Type: "off", Disabled: ptr.To(true)}}
		o.Shoot.Spec.Provider.Workers = make([]gardencorev1beta1.Worker, c.workers)
		extensions, err := o.Extensions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range extensions {
			got = append(got, e.Spec.Type)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		labels, err := o.namespaceLabels(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var labelled []string
		for label := range labels {
			if name, is := strings.CutPrefix(label, "extensions.extensions.gardener.cloud/"); is {
				labelled = append(labelled, name)
			}
		}
		slices.Sort(labelled)
		if diff := cmp.Diff(c.want, labelled); diff != "" {
			t.Errorf("%s: labels of the namespace (-want +got):\n%s", name, diff)
		}
	}
}

// How long an Extension is waited for is said where it is registered (docs/specification/extensions.md#spec-3-5).
func TestTheReconcileTimeoutOfARegistration(t *testing.T) {
	t.Parallel()
	o, _ := onSeedA(t, gardencorev1beta1.LastOperationTypeReconcile, []client.Object{
		registration("slow", "", "", "", func(r *gardencorev1beta1.ControllerResource) {
			r.ReconcileTimeout = &metav1.Duration{Duration: time.Hour}
		}),
	}, interceptor.Funcs{})
	for name, want := range map[string]time.Duration{"slow": time.Hour, "certs": 3 * time.Minute} {
		e := certs()
		e.Spec.Type = name
		if waits, err := o.patience(t.Context(), e); err != nil || waits.Timeout != want {
			t.Errorf("%s is waited for %s, want %s: %v", name, waits.Timeout, want, err)
		}
	}
	if waits, err := o.patience(t.Context(), infrastructure()); err != nil || waits.Timeout != 10*time.Minute {
		t.Errorf("an Infrastructure is waited for %s: %v", waits.Timeout, err)
	}
}

// On a real API server each Extension appears at its moment, none twice, and goes at its moment.
func TestExtensionsAtTheirMoments(t *testing.T) {
	t.Parallel()
	config := apiservertest.Start(t, apiservertest.Options{CRDs: slices.Concat(crds.Garden(), crds.Seed())})
	c, err := client.New(config, client.Options{Scheme: seedScheme(t)})
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
	must(c.Create(t.Context(), registration("guard", "BeforeKubeAPIServer", "AfterKubeAPIServer", "")))
	must(c.Create(t.Context(), registration("metrics", "AfterWorker", "", "AfterKubeAPIServer")))
	if err := c.Create(t.Context(), registration("wrong", "", "AfterWorker", "")); !apierrors.IsInvalid(err) {
		t.Errorf("a registration with a moment that deletions do not have: %v", err)
	}
	o := newOperation(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{})
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
		{"before the API server", o.deployExtensions("BeforeKubeAPIServer"), []string{"guard"}},
		{"after the API server", o.deployExtensions("AfterKubeAPIServer"), []string{"certs", "guard"}},
		{"after the workers", o.deployExtensions("AfterWorker"), []string{"certs", "guard", "metrics"}},
	} {
		must(step.do(t.Context()))
		if diff := cmp.Diff(step.want, present()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
	if diff := cmp.Diff([]string{"certs", "guard"},
		names(o.ExtensionsToMigrate(t.Context(), "BeforeKubeAPIServer"))); diff != "" {
		t.Errorf("released before the API server stops (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"metrics"}, names(o.ExtensionsToMigrate(t.Context(), "AfterKubeAPIServer"))); diff != "" {
		t.Errorf("released after it (-want +got):\n%s", diff)
	}
	// In the middle of a run it is as it was at its beginning.
	must(c.Delete(t.Context(), registration("guard", "", "", "")))
	must(o.deleteExtensions("BeforeKubeAPIServer")(t.Context()))
	if diff := cmp.Diff([]string{"guard"}, present()); diff != "" {
		t.Errorf("deleted before the API server (-want +got):\n%s", diff)
	}
	must(o.deleteExtensions("AfterKubeAPIServer")(t.Context()))
	if diff := cmp.Diff([]string{}, present()); diff != "" {
		t.Errorf("deleted after it (-want +got):\n%s", diff)
	}
}
