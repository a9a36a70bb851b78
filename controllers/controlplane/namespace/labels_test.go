package namespace

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/extensions"
)

// TestNamespaceNamesExtensions: webhooks of extensions are asked about shoots alone that have the extension.
func TestNamespaceNamesExtensions(t *testing.T) {
	t.Parallel()
	o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{}))
	o.Shoot.Spec.Extensions = []gardencorev1beta1.Extension{{Type: "mirror"}, {Type: "off", Disabled: ptr.To(true)}}
	got, err := o.labels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"gardener.cloud/role": "shoot", "extensions.extensions.gardener.cloud/mirror": "true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
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
		controlplanetest.Registration("certs", "", "", "", auto("shoot")),
		controlplanetest.Registration("lean", "", "", "", auto("shoot"), workerless),
		controlplanetest.Registration("off", "", "", "", auto("shoot"), workerless),
		controlplanetest.Registration("seeds", "", "", "", auto("seed")),
		controlplanetest.Registration("plain", "", "", ""),
		controlplanetest.Registration("second", "", "", "", auto("shoot"), func(r *gardencorev1beta1.ControllerResource) {
			r.Primary = ptr.To(false)
		}),
		controlplanetest.Registration("other", "", "", "", auto("shoot"), func(r *gardencorev1beta1.ControllerResource) {
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
		onA, _ := controlplanetest.OnSeedA(t, gardencorev1beta1.LastOperationTypeReconcile, inGarden, interceptor.Funcs{})
		o := extensions.NewExtensions(onA)
		o.Shoot.Spec.Extensions = []gardencorev1beta1.Extension{{Type: "asked"}, {Type: "off", Disabled: ptr.To(true)}}
		o.Shoot.Spec.Provider.Workers = make([]gardencorev1beta1.Worker, c.workers)
		wanted, err := o.Wanted(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range wanted {
			got = append(got, e.Spec.Type)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		labels, err := New(onA).labels(t.Context())
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
