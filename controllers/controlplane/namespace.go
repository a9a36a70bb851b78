package controlplane

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// keyKubeconfig is the key of a Secret with credentials that this seed holds ready.
const keyKubeconfig = "kubeconfig"

// annotationShoot names the shoot, as namespace/name, on its control-plane namespace.
const annotationShoot = "transplant.dev/shoot"

// labelRoleShoot marks control-plane namespaces: the gateway and the extensions select by it.
var labelRoleShoot = map[string]string{constants.GardenRole: constants.GardenRoleShoot}

// DeployNamespace deploys the control-plane namespace, which carries the epoch this seed acts in, and where it is
// decided: while no guard runs, extensions read that themselves (docs/adr/0013). From then on they may work in it.
func (o *Operation) DeployNamespace(ctx context.Context) error {
	namespace, err := o.namespace(ctx)
	if err == nil && namespace.DeletionTimestamp != nil {
		return fmt.Errorf("namespace %q is still being deleted", namespace.Name)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read namespace %q: %w", o.Namespace(), err)
	}
	labels, err := o.namespaceLabels(ctx)
	if err != nil {
		return err
	}
	if err := Apply(ctx, o.Seed, &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{
			Name:   o.Namespace(),
			Labels: labels,
			Annotations: map[string]string{
				constants.OwnershipEpoch:  strconv.FormatInt(o.Epoch, 10),
				constants.OwnershipOwner:  string(o.SeedObject.UID),
				constants.OwnershipRecord: o.ownerRecordName(),
				annotationShoot:           o.Shoot.Namespace + "/" + o.Shoot.Name,
			},
		},
	}); err != nil {
		return err
	}
	return o.grantExtensions(ctx)
}

// extensionLabelPrefix, followed by a type, is the label of namespaces of shoots that have an extension of that type.
// Webhooks of extensions select by it, so that they are asked about no other shoot.
const extensionLabelPrefix = "extensions.extensions.gardener.cloud/"

func (o *Operation) namespaceLabels(ctx context.Context) (map[string]string, error) {
	extensions, err := o.Extensions(ctx)
	if err != nil {
		return nil, err
	}
	labels := maps.Clone(labelRoleShoot)
	for _, extension := range extensions {
		labels[extensionLabelPrefix+extension.Spec.Type] = constants.LabelTrue
	}
	return labels, nil
}

// DeleteNamespace deletes the control-plane namespace and waits until it is gone.
func (o *Operation) DeleteNamespace(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.Namespace()}}
	if err := remove(ctx, o.Seed, namespace); err != nil {
		return err
	}
	return o.Until(ctx, 15*time.Minute, "the end of namespace "+o.Namespace(), func(ctx context.Context) error {
		return gone(ctx, o.Seed, namespace)
	})
}

// DeployCredentials deploys what the control plane needs to reach the cloud and the garden: the provider's
// credentials from the shoot's project, and the kubeconfigs that this seed holds ready for control planes.
func (o *Operation) DeployCredentials(ctx context.Context) error {
	garden, err := SeedCredentials(ctx, o.Seed, SecretKubeconfigGarden)
	if err != nil {
		return err
	}
	if err := o.deploySeedSecret(ctx, SecretKubeconfigGarden, garden); err != nil {
		return err
	}
	for _, name := range []string{SecretKubeconfigCloud, secretCloudProvider} {
		if err := o.deployCloudCredentials(ctx, name); err != nil {
			return err
		}
	}
	return o.deployMachineControllerAccess(ctx)
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
	data, err := SeedCredentials(ctx, seed, SecretKubeconfigCloud)
	if err != nil {
		return nil, err
	}
	confined, err := cloud.ConfineKubeconfig(data[keyKubeconfig], shoot)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{keyKubeconfig: confined}, nil
}

// deployCloudCredentials writes the control plane's credentials for the cloud into a Secret of its namespace.
func (o *Operation) deployCloudCredentials(ctx context.Context, name string) error {
	data, err := CloudCredentials(ctx, o.Seed, o.Namespace())
	if err != nil {
		return err
	}
	return o.deploySeedSecret(ctx, name, data)
}

func (o *Operation) deploySeedSecret(ctx context.Context, name string, data map[string][]byte) error {
	return Apply(ctx, o.Seed, &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: o.meta(name),
		Type:       corev1.SecretTypeOpaque,
		Data:       data,
	})
}

// deployMachineControllerAccess lets the shoot's machine controller work on the machine objects of its namespace.
func (o *Operation) deployMachineControllerAccess(ctx context.Context) error {
	meta := o.meta(DeploymentMachineController)
	for _, object := range []client.Object{
		&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: meta},
		&rbacv1.Role{
			TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}, ObjectMeta: meta,
			Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{"machine.sapcloud.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
				{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch"}},
				{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"},
					Verbs: []string{"create", "patch", "update"}},
			},
		},
		roleBinding(meta, "Role", meta.Namespace+"/"+meta.Name),
	} {
		if err := Apply(ctx, o.Seed, object); err != nil {
			return err
		}
	}
	return nil
}

// NoteEnd says on the control-plane namespace that this seed has ended the epoch. DNS names it until the destination
// has written there, which then waits for nobody: extensions, which read DNS where no guard runs, must not be granted
// anything by it.
func (o *Operation) NoteEnd(ctx context.Context, epoch int64) error {
	return o.note(ctx, constants.OwnershipEnded, epoch)
}

// note an epoch on the control-plane namespace.
func (o *Operation) note(ctx context.Context, annotation string, epoch int64) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.Namespace()}}
	note := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, annotation,
		epoch))
	if err := o.Seed.Patch(ctx, namespace, note, fieldOwner); err != nil {
		return fmt.Errorf("note epoch %d as %s on namespace %q: %w", epoch, annotation, o.Namespace(), err)
	}
	return nil
}

// ShootOf names the shoot whose control plane a namespace holds.
func ShootOf(namespace *corev1.Namespace) (client.ObjectKey, bool) {
	project, name, found := strings.Cut(namespace.Annotations[annotationShoot], "/")
	return client.ObjectKey{Namespace: project, Name: name}, found
}
