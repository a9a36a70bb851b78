package controlplane

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// The clean-up of a shoot in deletion begins with the roles that it needs.
func TestOpenShoot_RolesDeleted_AreGranted(t *testing.T) {
	t.Parallel()
	o, shoot := servedShoot(t)
	if err := o.openShoot(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"transplant:gardener-resource-manager", "transplant:machine-controller"} {
		if err := shoot.Get(t.Context(), client.ObjectKey{Name: user}, &rbacv1.ClusterRoleBinding{}); err != nil {
			t.Error(err)
		}
	}
}

// servedShoot is an operation on a shoot that answers by its name, and its API server, in which there are no roles.
func servedShoot(t *testing.T) (*Operation, client.Client) {
	t.Helper()
	seedName := "a"
	server, manager, machines := &appsv1.Deployment{}, &appsv1.Deployment{}, &appsv1.Deployment{}
	server.Name, manager.Name = workload.KubeAPIServer, workload.ControllerManager
	machines.Name = workload.MachineController
	service, ca, token := &corev1.Service{}, &corev1.Secret{}, &corev1.Secret{}
	service.Name, ca.Name, token.Name = workload.ServiceKubeAPIServer, secrets.CA, secrets.StaticToken
	objects := []client.Object{server, manager, machines, service, ca, token}
	for _, object := range objects {
		object.SetNamespace("shoot--p--alpha")
	}
	o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeDelete, interceptor.Funcs{}, objects...))
	o.Shoot.Status.SeedName = &seedName
	record := o.DNS.Internal()
	record.SetNamespace("shoot--p--alpha")
	if err := o.Seed.Create(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	system := &corev1.Namespace{}
	system.Name = "kube-system"
	shoot := fake.NewClientBuilder().WithScheme(controlplanetest.SeedScheme(t)).WithObjects(system).Build()
	o.Shoots = controlplanetest.OneShoot{Client: shoot}
	return o, shoot
}
