package controlplane

import (
	"context"
	"encoding/csv"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Of all that a shoot's API server knows by a token or a certificate, the administrator alone is in the group that no
// role can bound.
func TestInitializeSecrets_IdentitiesOfAShoot_OneIsInSystemMasters(t *testing.T) {
	t.Parallel()
	var services []client.Object
	for _, name := range []string{ServiceEtcdClient, ServiceKubeAPIServer} {
		s := &corev1.Service{}
		s.Namespace, s.Name, s.Spec.ClusterIP = "shoot--p--alpha", name, "10.0.0.1"
		services = append(services, s)
	}
	o := newOperation(t, gardencorev1beta1.LastOperationTypeCreate, interceptor.Funcs{}, services...)
	if err := o.InitializeSecrets(t.Context()); err != nil {
		t.Fatal(err)
	}
	secrets := &corev1.SecretList{}
	if err := o.Seed.List(t.Context(), secrets, client.InNamespace("shoot--p--alpha")); err != nil {
		t.Fatal(err)
	}
	groups := map[string]string{}
	for _, secret := range secrets.Items {
		if len(secret.Data["kubeconfig"]) > 0 {
			certificates, err := certutil.ParseCertsPEM(secret.Data[keyCert])
			if err != nil {
				t.Fatal(err)
			}
			subject := certificates[0].Subject
			groups[subject.CommonName] = strings.Join(subject.Organization, ",")
		}
		reader := csv.NewReader(strings.NewReader(string(secret.Data[keyTokens])))
		reader.FieldsPerRecord = -1
		lines, err := reader.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			groups[line[1]] = strings.Join(slices.Clone(line[3:]), ",")
		}
	}
	want := map[string]string{
		"system:cluster-admin": "system:masters", "transplant:nodes": "", "transplant:machine-controller": "",
		"transplant:gardener-resource-manager": "", "system:kube-controller-manager": "", "system:kube-scheduler": "",
	}
	if diff := cmp.Diff(want, groups); diff != "" {
		t.Errorf("groups of each user (-want +got):\n%s", diff)
	}
}

// A shoot that leaves gets back the roles that its administrator has deleted. What its API server refuses, or that it
// does not answer, holds it up for a bounded time, and is no error.
func TestRepairShootAccess_RolesDeletedOrRefused_NeverHoldsUp(t *testing.T) {
	t.Parallel()
	refuse := errors.New("refused")
	missing := []string{"transplant:gardener-resource-manager", "transplant:machine-controller", "transplant:nodes"}
	for name, test := range map[string]struct {
		secrets bool
		answer  func(context.Context, client.Object) error
		want    []string
	}{
		"deleted": {secrets: true, want: missing},
		"one is refused": {secrets: true, want: missing[1:], answer: func(_ context.Context, o client.Object) error {
			if o.GetName() == missing[0] {
				return refuse
			}
			return nil
		}},
		"no answer": {secrets: true, answer: func(ctx context.Context, _ client.Object) error {
			if _, bounded := ctx.Deadline(); !bounded {
				t.Errorf("the wait has no bound")
			}
			return context.DeadlineExceeded
		}},
		"no secrets of an administrator": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var secrets []client.Object
			if test.secrets {
				for _, secret := range []string{SecretCA, SecretStaticToken} {
					s := &corev1.Secret{}
					s.Namespace, s.Name = "shoot--p--alpha", secret
					secrets = append(secrets, s)
				}
			}
			o := newOperation(t, gardencorev1beta1.LastOperationTypeDelete, interceptor.Funcs{}, secrets...)
			shoot := fake.NewClientBuilder().WithScheme(seedScheme(t)).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch,
					options ...client.PatchOption) error {
					if test.answer != nil {
						if err := test.answer(ctx, object); err != nil {
							return err
						}
					}
					return c.Patch(ctx, object, patch, options...)
				},
			}).Build()
			o.Shoots = oneShoot{shoot}
			if err := o.RepairShootAccess(t.Context()); err != nil {
				t.Fatal(err)
			}
			bindings := &rbacv1.ClusterRoleBindingList{}
			if err := shoot.List(t.Context(), bindings); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range bindings.Items {
				got = append(got, b.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("bindings (-want +got):\n%s", diff)
			}
		})
	}
}

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
	server.Name, manager.Name = DeploymentKubeAPIServer, DeploymentControllerManager
	machines.Name = DeploymentMachineController
	service, ca, token := &corev1.Service{}, &corev1.Secret{}, &corev1.Secret{}
	service.Name, ca.Name, token.Name = ServiceKubeAPIServer, SecretCA, SecretStaticToken
	objects := []client.Object{server, manager, machines, service, ca, token}
	for _, object := range objects {
		object.SetNamespace("shoot--p--alpha")
	}
	o := newOperation(t, gardencorev1beta1.LastOperationTypeDelete, interceptor.Funcs{}, objects...)
	o.Shoot.Status.SeedName = &seedName
	record := o.DNSRecord()
	record.SetNamespace("shoot--p--alpha")
	if err := o.Seed.Create(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	system := &corev1.Namespace{}
	system.Name = "kube-system"
	shoot := fake.NewClientBuilder().WithScheme(seedScheme(t)).WithObjects(system).Build()
	o.Shoots = oneShoot{shoot}
	return o, shoot
}
