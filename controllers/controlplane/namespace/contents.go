package namespace

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/contract"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
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

// Deploy deploys what the control plane needs to reach the cloud and the garden: the provider's
// credentials from the shoot's project, and the kubeconfigs that this seed holds ready for control planes.
func (c *Credentials) Deploy(ctx context.Context) error {
	garden, err := SeedCredentials(ctx, c.Seed, KubeconfigGarden)
	if err != nil {
		return err
	}
	if err := c.deploy(ctx, KubeconfigGarden, garden); err != nil {
		return err
	}
	if err := c.DeployForCloud(ctx, KubeconfigCloud, contract.SecretCloudProvider); err != nil {
		return err
	}
	return c.deployMachineControllerAccess(ctx)
}

// SeedCredentials are those that this seed holds ready for control planes, in the gardenlet's namespace.
func SeedCredentials(ctx context.Context, seed client.Reader, name string) (map[string][]byte, error) {
	source := &corev1.Secret{}
	key := client.ObjectKey{Namespace: constants.GardenNamespace, Name: "control-plane-" + name}
	if err := seed.Get(ctx, key, source); err != nil {
		return nil, fmt.Errorf("read secret %q: %w", key, err)
	}
	return source.Data, nil
}

// CloudCredentials are those of the control planes of this seed, confined to the shoot with the technical id: nothing
// else may lie where the shoot's own programs, or extensions, can read it (docs/adr/0017).
func CloudCredentials(ctx context.Context, seed client.Reader, shoot string) (map[string][]byte, error) {
	data, err := SeedCredentials(ctx, seed, KubeconfigCloud)
	if err != nil {
		return nil, err
	}
	confined, err := cloud.ConfineKubeconfig(data[keyKubeconfig], shoot)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{keyKubeconfig: confined}, nil
}

// DeployForCloud writes the control plane's credentials for the cloud into Secrets of its namespace.
func (c *Credentials) DeployForCloud(ctx context.Context, names ...string) error {
	data, err := CloudCredentials(ctx, c.Seed, c.Namespace())
	for _, name := range names {
		if err == nil {
			err = c.deploy(ctx, name, data)
		}
	}
	return err
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
		// The files beside user data that lack the node file.
		{APIGroups: []string{"extensions.gardener.cloud"}, Resources: []string{"operatingsystemconfigs"},
			Verbs: []string{"get"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"},
			Verbs: []string{"create", "patch", "update"}},
	})
}

// References are copies of the objects that the shoot's spec.resources refers to.
type References struct{ *scope.Scope }

const (
	// referencedPrefix begins the names of the copies, by which extensions know them.
	referencedPrefix = "ref-"
	// labelReferenced marks the copies, so that those are found that nobody refers to any more.
	labelReferenced = "transplant.dev/referenced-resource"
)

// Referenced returns the names of the project's Secrets and ConfigMaps that a shoot's control plane is given.
func Referenced(shoot *gardencorev1beta1.Shoot) (secrets, configs []string) {
	for _, reference := range shoot.Spec.Resources {
		switch ref := reference.ResourceRef; {
		case ref.APIVersion != "v1":
		case ref.Kind == "Secret":
			secrets = append(secrets, ref.Name)
		case ref.Kind == "ConfigMap":
			configs = append(configs, ref.Name)
		}
	}
	if primary := scope.PrimaryDNSProvider(shoot); primary != nil && scope.CredentialsOf(primary) != "" {
		secrets = append(secrets, scope.CredentialsOf(primary))
	}
	return secrets, configs
}

// Deploy copies the Secrets and ConfigMaps of the project that the shoot's spec.resources refers to
// into the control-plane namespace, where extensions read them (docs/specification/migration.md#spec-2-9-task-5). Of a
// shoot in deletion what is gone from the project stays as it was copied: extensions may need it to delete what they
// have made.
func (r *References) Deploy(ctx context.Context) error {
	for _, reference := range r.Shoot.Spec.Resources {
		copied, err := r.copyOf(ctx, reference)
		if r.Shoot.DeletionTimestamp != nil && apierrors.IsNotFound(err) {
			continue
		}
		if apierrors.IsNotFound(err) {
			return &errorcodes.Error{
				Message: fmt.Sprintf("copy the resource %q of the shoot: %s %q does not exist in namespace %q", reference.Name,
					reference.ResourceRef.Kind, reference.ResourceRef.Name, r.Shoot.Namespace),
				Codes: []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorRetryableConfigurationProblem},
			}
		}
		if err != nil {
			return err
		}
		if err := objects.ApplyCopy(ctx, r.Seed, copied); err != nil {
			return err
		}
	}
	return nil
}

// copyOf is the copy of an object of the project. What it holds is copied, and nothing that is said about it there.
func (r *References) copyOf(ctx context.Context, reference gardencorev1beta1.NamedResourceReference) (client.Object,
	error) {
	ref := reference.ResourceRef
	key, meta := client.ObjectKey{Namespace: r.Shoot.Namespace, Name: ref.Name}, r.Meta(referencedPrefix+ref.Name)
	meta.Labels = map[string]string{labelReferenced: constants.LabelTrue}
	switch (autoscalingv1.CrossVersionObjectReference{APIVersion: ref.APIVersion, Kind: ref.Kind}) {
	case autoscalingv1.CrossVersionObjectReference{APIVersion: "v1", Kind: "Secret"}:
		secret := &corev1.Secret{}
		if err := r.Garden.Get(ctx, key, secret); err != nil {
			return nil, fmt.Errorf("read secret %q: %w", key, err)
		}
		return &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: meta,
			Type: secret.Type, Data: secret.Data}, nil
	case autoscalingv1.CrossVersionObjectReference{APIVersion: "v1", Kind: "ConfigMap"}:
		config := &corev1.ConfigMap{}
		if err := r.Garden.Get(ctx, key, config); err != nil {
			return nil, fmt.Errorf("read config map %q: %w", key, err)
		}
		return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta,
			Data: config.Data, BinaryData: config.BinaryData}, nil
	}
	return nil, &errorcodes.Error{
		Message: fmt.Sprintf("copy the resource %q of the shoot: it is a %s of %s, and must be a Secret or a ConfigMap of v1",
			reference.Name, ref.Kind, ref.APIVersion),
		Codes: []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorConfigurationProblem},
	}
}

// DeleteStale deletes copies that the shoot no longer refers to. It comes after the Extensions that go:
// they may need theirs to the end.
func (r *References) DeleteStale(ctx context.Context) error {
	if r.Fresh {
		return nil
	}
	wanted := map[string]bool{}
	for _, reference := range r.Shoot.Spec.Resources {
		wanted[reference.ResourceRef.Kind+"/"+referencedPrefix+reference.ResourceRef.Name] = true
	}
	secrets, configs := &corev1.SecretList{}, &corev1.ConfigMapList{}
	for _, list := range []client.ObjectList{secrets, configs} {
		if err := r.Seed.List(ctx, list, client.InNamespace(r.Namespace()),
			client.MatchingLabels{labelReferenced: constants.LabelTrue}); err != nil {
			return fmt.Errorf("list the copies %T of referenced resources: %w", list, err)
		}
	}
	var unwanted []client.Object
	for i := range secrets.Items {
		if !wanted["Secret/"+secrets.Items[i].Name] {
			unwanted = append(unwanted, &secrets.Items[i])
		}
	}
	for i := range configs.Items {
		if !wanted["ConfigMap/"+configs.Items[i].Name] {
			unwanted = append(unwanted, &configs.Items[i])
		}
	}
	for _, object := range unwanted {
		if err := objects.Remove(ctx, r.Seed, object); err != nil {
			return err
		}
	}
	return nil
}
