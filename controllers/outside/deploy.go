package outside

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/backupentry"
	"github.com/transplant-sim/transplant/controllers/controlplane/etcd"
	"github.com/transplant-sim/transplant/controllers/controlplane/kubeapiserver"
	"github.com/transplant-sim/transplant/controllers/controlplane/namespace"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

// deploy makes what a gardenlet would make in a seed: the secrets and the pods of the control plane. It makes them in
// an API server that is only in memory, as gardenadm does, so that there is one list of flags, and one of secrets.
func (r *run) deploy(ctx context.Context) error {
	r.Seed = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
	r.Fresh = true
	r.Shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: gardencorev1beta1.LastOperationTypeRestore}
	for _, service := range []string{workload.ServiceEtcdClient, workload.ServiceKubeAPIServer} {
		r.ClusterIPs.Store(service, r.of.Address.String())
	}
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.Namespace()}}
	tenure.Tenure{}.Advance(home, tenure.Claimed, r.Epoch)
	if err := r.Seed.Create(ctx, home); err != nil {
		return fmt.Errorf("make the namespace of the control plane: %w", err)
	}
	if err := r.deployAccess(ctx); err != nil {
		return err
	}
	made := &secrets.Secrets{Scope: r.Scope}
	if err := made.Initialize(ctx); err != nil {
		return err
	}
	if err := etcd.New(r.Scope).Deploy(ctx); err != nil {
		return err
	}
	server := kubeapiserver.New(r.Scope)
	if err := server.Deploy(ctx); err != nil {
		return err
	}
	if err := server.DeployControllers(ctx); err != nil {
		return err
	}
	certificate, err := made.GuardClient(ctx)
	r.guard = etcd.Guard{URL: fmt.Sprintf("https://%s:%d", r.of.Address, access.GuardPort),
		Credentials: access.FromSecret(certificate)}
	return err
}

// deployAccess gives the programs their ways to the two authorities and to the bucket.
func (r *run) deployAccess(ctx context.Context) error {
	cloud, err := r.of.CloudAccess(r.Namespace())
	if err != nil {
		return err
	}
	for name, data := range map[string]map[string][]byte{
		namespace.KubeconfigGarden: {"kubeconfig": r.of.GardenAccess},
		namespace.KubeconfigCloud:  {"kubeconfig": cloud},
		backupentry.SecretBackup:   {"kubeconfig": cloud, "bucketName": []byte(r.bucket)},
	} {
		if err := r.Seed.Create(ctx, &corev1.Secret{ObjectMeta: r.Meta(name), Data: data}); err != nil {
			return fmt.Errorf("make the secret %q: %w", name, err)
		}
	}
	return nil
}

func (r *run) secret(ctx context.Context) func(string) (map[string][]byte, error) {
	return func(name string) (map[string][]byte, error) {
		secret := &corev1.Secret{}
		err := r.Seed.Get(ctx, r.Key(name), secret)
		return secret.Data, err
	}
}

// pod runs the pod of a component until ctx is done.
func (r *run) pod(ctx context.Context, component string) error {
	if component == workload.Etcd {
		set := &appsv1.StatefulSet{}
		if err := r.Seed.Get(ctx, r.Key(component), set); err != nil {
			return fmt.Errorf("read what was made of %q: %w", component, err)
		}
		var claims []string
		for _, claim := range set.Spec.VolumeClaimTemplates {
			claims = append(claims, claim.Name)
		}
		return r.of.Place.Run(ctx, component, set.Spec.Template.Spec, r.secret(ctx), claims)
	}
	deployment := &appsv1.Deployment{}
	if err := r.Seed.Get(ctx, r.Key(component), deployment); err != nil {
		return fmt.Errorf("read what was made of %q: %w", component, err)
	}
	return r.of.Place.Run(ctx, component, deployment.Spec.Template.Spec, r.secret(ctx), nil)
}
