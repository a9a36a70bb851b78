package workers

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
)

// TestNewMachinesBeginWithWhatExtensionsAdd: an extension changes the OperatingSystemConfig for nodes that run as it is
// written; that of new machines has the same, and loses it when the extension adds it no more.
func TestNewMachinesBeginWithWhatExtensionsAdd(t *testing.T) {
	t.Parallel()
	o, _ := withPool(t, "1.36.3", nil)
	tokens := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace(), Name: secrets.StaticToken}}
	if err := o.Seed.Patch(t.Context(), tokens,
		client.RawPatch(types.MergePatchType, []byte(`{"data":{"`+secrets.KeyNodeToken+`":"dA=="}}`))); err != nil {
		t.Fatal(err)
	}
	mirrors := []extensionsv1alpha1.RegistryConfig{{Upstream: "docker.io",
		Hosts: []extensionsv1alpha1.RegistryHost{{URL: "https://mirror.test"}}}}
	admit := func(object client.Object) {
		if config, is := object.(*extensionsv1alpha1.OperatingSystemConfig); is &&
			config.Spec.Purpose == extensionsv1alpha1.OperatingSystemConfigPurposeReconcile {
			config.Spec.CRIConfig.Containerd.Registries = mirrors
		}
	}
	o.Seed = interceptor.NewClient(o.Seed.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			admit(object)
			return c.Create(ctx, object, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch,
			options ...client.PatchOption) error {
			if err := c.Patch(ctx, object, patch, options...); err != nil {
				return err
			}
			before := object.DeepCopyObject().(client.Object)
			admit(object)
			return c.Patch(ctx, object, client.MergeFrom(before))
		},
	})
	for _, want := range [][]extensionsv1alpha1.RegistryConfig{mirrors, nil} {
		mirrors = want
		if err := o.Deploy(t.Context()); err != nil {
			t.Fatal(err)
		}
		list := &extensionsv1alpha1.OperatingSystemConfigList{}
		if err := o.Seed.List(t.Context(), list, client.InNamespace(o.Namespace())); err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != 2 {
			t.Fatalf("there are %d OperatingSystemConfigs, want 2", len(list.Items))
		}
		for _, config := range list.Items {
			wanted := &extensionsv1alpha1.CRIConfig{
				Name: "containerd", CgroupDriver: ptr.To(extensionsv1alpha1.CgroupDriverName("systemd")),
				Containerd: &extensionsv1alpha1.ContainerdConfig{SandboxImage: "registry.k8s.io/pause:3.10.1", Registries: want},
			}
			if diff := cmp.Diff(wanted, config.Spec.CRIConfig); diff != "" {
				t.Errorf("container runtime of %s (-want +got):\n%s", config.Name, diff)
			}
		}
	}
}
