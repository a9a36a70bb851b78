package controlplane

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
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
	missing := err != nil
	labels, err := o.namespaceLabels(ctx)
	if err != nil {
		return err
	}
	shape := func(namespace *corev1.Namespace) {
		maps.DeleteFunc(namespace.Labels, func(label, _ string) bool {
			return strings.HasPrefix(label, extensionLabelPrefix) && labels[label] == ""
		})
		for label, value := range labels {
			metav1.SetMetaDataLabel(&namespace.ObjectMeta, label, value)
		}
		tenure.Advance(namespace, tenure.Claimed, o.Epoch)
		for annotation, value := range map[string]string{
			constants.OwnershipOwner:  string(o.SeedObject.UID),
			constants.OwnershipRecord: o.ownerRecordName(),
			annotationShoot:           o.Shoot.Namespace + "/" + o.Shoot.Name,
		} {
			metav1.SetMetaDataAnnotation(&namespace.ObjectMeta, annotation, value)
		}
	}
	if missing {
		// The epoch is there from the beginning: a namespace without one is that of a seed that cleans up.
		namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.Namespace()}}
		shape(namespace)
		err = o.Seed.Create(ctx, namespace, fieldOwner)
		missing = !apierrors.IsAlreadyExists(err)
		if missing && err != nil {
			return describe("create", namespace, o.Seed, err)
		}
	}
	if !missing {
		if err := patchNamespace(ctx, o.Seed, o.Namespace(), shape); err != nil {
			return err
		}
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

// Advance notes on the control-plane namespace how far the epoch has come here (docs/adr/0018-tenure.md). If somebody
// else writes an epoch between its own read and its write, it is an error, and nothing is written. It does not compare
// with what the flow has read before.
func (o *Operation) Advance(ctx context.Context, to tenure.Step, epoch int64) error {
	err := patchNamespace(ctx, o.Seed, o.Namespace(), func(namespace *corev1.Namespace) {
		tenure.Advance(namespace, to, epoch)
	})
	if err != nil {
		return fmt.Errorf("note on its namespace that the epoch is %s: %w", to, err)
	}
	return nil
}

// patchNamespace brings a control-plane namespace to what shape makes of it, unless an epoch on it changes meanwhile.
// It does not apply the namespace: an apply that leaves the epoch out would delete it.
func patchNamespace(ctx context.Context, seed client.Client, name string, shape func(*corev1.Namespace)) error {
	var first *tenure.Tenure
	return retry.RetryOnConflict(ConflictBackoff, func() error {
		namespace := &corev1.Namespace{}
		if err := seed.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
			return fmt.Errorf("read namespace %q: %w", name, err)
		}
		here, err := tenure.Of(namespace, nil)
		if err != nil {
			return err
		}
		before := namespace.DeepCopy()
		if shape(namespace); equality.Semantic.DeepEqual(before, namespace) {
			return nil
		}
		if first == nil {
			first = &here
		} else if *first != here {
			return fmt.Errorf("the epochs on namespace %q have changed meanwhile: %+v, before %+v", name, here, *first)
		}
		asRead := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		return describe("patch", namespace, seed, seed.Patch(ctx, namespace, asRead, fieldOwner))
	})
}

// ShootOf names the shoot whose control plane a namespace holds.
func ShootOf(namespace *corev1.Namespace) (client.ObjectKey, bool) {
	project, name, found := strings.Cut(namespace.Annotations[annotationShoot], "/")
	return client.ObjectKey{Namespace: project, Name: name}, found
}
