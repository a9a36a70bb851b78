package extensions

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// A network extension finds ranges and families in its Network.
func TestNetwork_Deploy_NamesRangesAndFamilies(t *testing.T) {
	t.Parallel()
	s := controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeCreate, interceptor.Funcs{})
	s.Shoot.Spec.Networking = &gardencorev1beta1.Networking{Type: ptr.To("calico"),
		IPFamilies: []gardencorev1beta1.IPFamily{"IPv4"}}
	if err := NewNetwork(s).Deploy(t.Context()); err != nil {
		t.Fatal(err)
	}
	network := &extensionsv1alpha1.Network{}
	if err := s.Seed.Get(t.Context(), s.Key("alpha"), network); err != nil {
		t.Fatal(err)
	}
	want := extensionsv1alpha1.NetworkSpec{PodCIDR: "100.96.0.0/11", ServiceCIDR: "100.64.0.0/13",
		IPFamilies: []extensionsv1alpha1.IPFamily{"IPv4"}}
	want.Type = "calico"
	if diff := cmp.Diff(want, network.Spec); diff != "" {
		t.Errorf("spec of the Network (-want +got):\n%s", diff)
	}
}

// The network of the nodes is in the Cluster's shoot, whoever has chosen it.
func TestCluster_Sync_NamesTheNetworkOfTheNodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own    *string
		chosen []string
		want   string
	}{
		"the shoot names one":             {ptr.To("10.1.0.0/16"), []string{"10.1.0.0/16"}, "10.1.0.0/16"},
		"the infrastructure chose one":    {nil, []string{"10.2.0.0/16"}, "10.2.0.0/16"},
		"the infrastructure is not there": {nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{})
			s.SeedName = "a"
			s.Shoot.Spec.CloudProfileName = ptr.To("local")
			s.Shoot.Spec.Networking = &gardencorev1beta1.Networking{Nodes: c.own}
			s.Shoot.Status.Networking = &gardencorev1beta1.NetworkingStatus{Nodes: c.chosen}
			s.Garden = fake.NewClientBuilder().WithScheme(controlplanetest.SeedScheme(t)).WithObjects(s.Shoot,
				&gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
				&gardencorev1beta1.CloudProfile{ObjectMeta: metav1.ObjectMeta{Name: "local"}}).Build()
			if err := (&Cluster{s}).Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			cluster, shoot := &extensionsv1alpha1.Cluster{}, &gardencorev1beta1.Shoot{}
			key := s.Key("shoot--p--alpha")
			key.Namespace = ""
			if err := s.Seed.Get(t.Context(), key, cluster); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(cluster.Spec.Shoot.Raw, shoot); err != nil {
				t.Fatal(err)
			}
			if got := ptr.Deref(shoot.Spec.Networking.Nodes, ""); got != c.want {
				t.Errorf("the nodes are in %q, want %q", got, c.want)
			}
		})
	}
}
