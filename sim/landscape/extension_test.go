package landscape

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func TestExtension_Registered_HasWhatTheFileSays(t *testing.T) {
	t.Parallel()
	lifecycle := &gardencorev1beta1.ControllerResourceLifecycle{Migrate: ptr.To(gardencorev1beta1.AfterKubeAPIServer)}
	shoot := []gardencorev1beta1.ClusterType{gardencorev1beta1.ClusterTypeShoot}
	got := Extension{Name: "vault", Resources: []ExtensionResource{
		{Kind: "Extension", Type: "vault", Lifecycle: lifecycle, ReconcileTimeout: metav1.Duration{Duration: time.Minute},
			AutoEnable: shoot, WorkerlessSupported: true},
		{Kind: "Network", Type: "calico", Primary: ptr.To(false)},
	}}.Registered()
	want := []gardencorev1beta1.ControllerResource{
		{Kind: "Extension", Type: "vault", Lifecycle: lifecycle, ReconcileTimeout: &metav1.Duration{Duration: time.Minute},
			AutoEnable: shoot, WorkerlessSupported: ptr.To(true)},
		{Kind: "Network", Type: "calico", Primary: ptr.To(false)},
	}
	if diff := cmp.Diff(want, got.Spec.Resources); diff != "" || got.Name != "vault" {
		t.Errorf("%s (-want +got):\n%s", got.Name, diff)
	}
}

// A shoot names what it must ask for, and what it configures.
func TestExtension_Named_LeavesOutWhatEnablesItself(t *testing.T) {
	t.Parallel()
	asked := ExtensionResource{Kind: "Extension", Type: "asked"}
	itself := ExtensionResource{Kind: "Extension", Type: "itself",
		AutoEnable: []gardencorev1beta1.ClusterType{gardencorev1beta1.ClusterTypeShoot}}
	config := &runtime.RawExtension{Raw: []byte(`{"a":1}`)}
	for _, c := range []struct {
		of   Extension
		want []gardencorev1beta1.Extension
	}{
		{Extension{Resources: []ExtensionResource{asked, itself}}, []gardencorev1beta1.Extension{{Type: "asked"}}},
		{Extension{Resources: []ExtensionResource{itself}, ProviderConfig: config},
			[]gardencorev1beta1.Extension{{Type: "itself", ProviderConfig: config}}},
		{Extension{Resources: []ExtensionResource{{Kind: "Extension", Type: "x", Primary: ptr.To(false)}}}, nil},
	} {
		if diff := cmp.Diff(c.want, c.of.Named()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
