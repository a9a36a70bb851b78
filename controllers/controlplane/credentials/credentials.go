// Package credentials deploys what a control plane needs to reach the cloud and the garden, from what its seed holds
// ready. The secrets of the shoot itself are package secrets'.
package credentials

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// Credentials are those of one control plane.
type Credentials struct{ *scope.Scope }

// keyKubeconfig is the key of a Secret with credentials that this seed holds ready.
const keyKubeconfig = "kubeconfig"

const (
	// KubeconfigGarden and KubeconfigCloud hold the ways of a control plane to the two authorities.
	KubeconfigGarden = "kubeconfig-garden"
	KubeconfigCloud  = "kubeconfig-cloud"
)

// CloudProvider holds the credentials with which extensions reach the cloud.
const CloudProvider = "cloudprovider"

// Deploy deploys what the control plane needs to reach the cloud and the garden: the provider's
// credentials from the shoot's project, and the kubeconfigs that this seed holds ready for control planes.
func (c *Credentials) Deploy(ctx context.Context) error {
	garden, err := OfSeed(ctx, c.Seed, KubeconfigGarden)
	if err != nil {
		return err
	}
	if err := c.deploy(ctx, KubeconfigGarden, garden); err != nil {
		return err
	}
	for _, name := range []string{KubeconfigCloud, CloudProvider} {
		if err := c.DeployForCloud(ctx, name); err != nil {
			return err
		}
	}
	return c.deployMachineControllerAccess(ctx)
}

// OfSeed are those that this seed holds ready for control planes, in the gardenlet's namespace.
func OfSeed(ctx context.Context, seed client.Reader, name string) (map[string][]byte, error) {
	source := &corev1.Secret{}
	key := client.ObjectKey{Namespace: constants.GardenNamespace, Name: "control-plane-" + name}
	if err := seed.Get(ctx, key, source); err != nil {
		return nil, fmt.Errorf("read secret %q: %w", key, err)
	}
	return source.Data, nil
}

// OfShoot are those of the control planes of this seed, confined to the shoot with the technical id: nothing
// else may lie where the shoot's own programs, or extensions, can read it (docs/adr/0017).
func OfShoot(ctx context.Context, seed client.Reader, shoot string) (map[string][]byte, error) {
	data, err := OfSeed(ctx, seed, KubeconfigCloud)
	if err != nil {
		return nil, err
	}
	confined, err := cloud.ConfineKubeconfig(data[keyKubeconfig], shoot)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{keyKubeconfig: confined}, nil
}

// DeployForCloud writes the control plane's credentials for the cloud into a Secret of its namespace.
func (c *Credentials) DeployForCloud(ctx context.Context, name string) error {
	data, err := OfShoot(ctx, c.Seed, c.Namespace())
	if err != nil {
		return err
	}
	return c.deploy(ctx, name, data)
}

func (c *Credentials) deploy(ctx context.Context, name string, data map[string][]byte) error {
	return objects.Apply(ctx, c.Seed, &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: c.Meta(name),
		Type:       corev1.SecretTypeOpaque,
		Data:       data,
	})
}

// deployMachineControllerAccess lets the shoot's machine controller work on the machine objects of its namespace.
func (c *Credentials) deployMachineControllerAccess(ctx context.Context) error {
	return objects.ApplyAccount(ctx, c.Seed, c.Meta(workload.MachineController), []rbacv1.PolicyRule{
		{APIGroups: []string{"machine.sapcloud.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"},
			Verbs: []string{"create", "patch", "update"}},
	})
}
