package contract

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
)

// machineDeployment of a pool that wants machines.
func machineDeployment(replicas int32) *machinev1alpha1.MachineDeployment {
	labels := map[string]string{"name": "pool"}
	return &machinev1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "pool"},
		Spec: machinev1alpha1.MachineDeploymentSpec{Replicas: replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: machinev1alpha1.MachineTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: machinev1alpha1.MachineSpec{Class: machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: "class"}}}}}
}

// A deployment gets its machines when the machine controller has replicas. Restored machines are taken for its own, and
// a deletion removes them.
func TestMachines_Deployment_GetsWhatItWants(t *testing.T) {
	t.Parallel()
	restored := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "restored",
		Labels: map[string]string{"name": "pool", machinev1alpha1.LabelNode: "node"}},
		Spec: machinev1alpha1.MachineSpec{Class: machinev1alpha1.ClassSpec{Name: "class"}, ProviderID: "id"}}
	ended := restored.DeepCopy()
	ended.Name, ended.Finalizers = "ended", []string{"machine.sapcloud.io/machine-controller-manager"}
	for name, c := range map[string]struct {
		objects []client.Object
		delete  client.Object
		want    int
		has     string
	}{
		"asleep":        {[]client.Object{machineController("n", 0), machineDeployment(1)}, nil, 0, ""},
		"no controller": {[]client.Object{machineDeployment(1)}, nil, 0, ""},
		"awake":         {[]client.Object{machineController("n", 1), machineDeployment(2)}, nil, 2, ""},
		"with a restored": {[]client.Object{machineController("n", 1), machineDeployment(2), restored}, nil, 2,
			"restored"},
		"only the restored": {[]client.Object{machineController("n", 1), machineDeployment(1), restored}, nil, 1,
			"restored"},
		"fewer":              {[]client.Object{machineController("n", 1), machineDeployment(0), restored}, nil, 0, ""},
		"without deployment": {[]client.Object{machineController("n", 1), restored}, nil, 0, ""},
		"one that ends":      {[]client.Object{machineController("n", 1), machineDeployment(1), ended}, ended, 1, ""},
	} {
		c0 := fake.NewClientBuilder().WithScheme(environment.Scheme()).WithObjects(c.objects...).
			WithStatusSubresource(&machinev1alpha1.MachineDeployment{}).Build()
		if c.delete != nil {
			if err := c0.Delete(t.Context(), c.delete); err != nil {
				t.Fatal(err)
			}
		}
		event := &unstructured.Unstructured{}
		event.SetKind("MachineDeployment")
		event.SetNamespace("n")
		for range 2 { // the second finds what the first has made
			if err := machines(c0, "kit-source")(t.Context(), event); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		list := &machinev1alpha1.MachineList{}
		if err := c0.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		found := c.has == ""
		for _, m := range list.Items {
			found = found || m.Name == c.has
		}
		if len(list.Items) != c.want || !found {
			t.Errorf("%s: %d machines, want %d, with %q: %+v", name, len(list.Items), c.want, c.has, list.Items)
		}
		d := &machinev1alpha1.MachineDeployment{}
		if err := c0.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "pool"}, d); c.want > 0 &&
			(err != nil || d.Status.AvailableReplicas != d.Spec.Replicas) {
			t.Errorf("%s: %+v, %v", name, d.Status, err)
		}
	}
}

// What a shoot leaves on the source goes, whatever keeps it.
func TestRemoveMachines_LeavesNone(t *testing.T) {
	t.Parallel()
	kept := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "m", Finalizers: []string{"a/b"}}}
	class := &machinev1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "class"}}
	other := kept.DeepCopy()
	other.Namespace = "other"
	c := fake.NewClientBuilder().WithScheme(environment.Scheme()).WithObjects(machineController("n", 1),
		machineDeployment(1), kept, class, other).Build()
	if err := removeMachines(t.Context(), c, "n"); err != nil {
		t.Fatal(err)
	}
	p, err := machinesIn(t.Context(), c, "n")
	if err != nil || p.runs || len(p.deployments.Items)+len(p.machines.Items)+len(p.classes.Items) > 0 {
		t.Errorf("left: %+v, %v", p, err)
	}
	if p, err = machinesIn(t.Context(), c, "other"); err != nil || len(p.machines.Items) != 1 {
		t.Errorf("of another namespace: %+v, %v", p, err)
	}
}
