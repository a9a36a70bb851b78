// Package operatingsystem renders what machines boot with: the result of an OperatingSystemConfig, in it the
// configuration of containerd. Its webhook adds the mirrors of registries that a shoot asks for.
//
// It starts no machine, and says nothing to machines that run.
package operatingsystem

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

// Provider renders it. Seed reads from the API server, not from a cache.
type Provider struct{ Seed client.Client }

// Image is the machine image whose configurations it renders: OperatingSystemConfigs have its name as type.
const Image = "simulated"

const (
	// nodeFile is the file of a provision config that says how a machine joins the shoot: a cloud.NodeUserData document.
	nodeFile = "/etc/transplant/node.json"
	// keyCloudConfig is the key of the result in its Secret.
	keyCloudConfig = "cloud_config"
	// cloudConfigSecretPrefix begins the name of the Secret with the result.
	cloudConfigSecretPrefix = "osc-result-"
	// osVersionFile is what the operating system itself brings along.
	osVersionFile = "/etc/transplant/os-release"
)

// Kind is OperatingSystemConfig: what machines boot with. It needs no state, and its result is written anew on the next
// seed: nodes that run do not look at it.
func (p *Provider) Kind() contract.Kind[*extensionsv1alpha1.OperatingSystemConfig] {
	kind := contract.KindOf[*extensionsv1alpha1.OperatingSystemConfig](extensionsv1alpha1.OperatingSystemConfigResource)
	kind.IgnoresCluster = true
	kind.OnReconcile = p.reconcileOperatingSystemConfig
	kind.OnDelete = p.discardCloudConfig
	kind.OnMigrate = p.discardCloudConfig
	return kind
}

func (p *Provider) reconcileOperatingSystemConfig(ctx context.Context, _ logr.Logger,
	obj *extensionsv1alpha1.OperatingSystemConfig, _ *contract.Cluster) error {
	added := []extensionsv1alpha1.File{{
		Path: osVersionFile, Permissions: ptr.To[uint32](0o644),
		Content: extensionsv1alpha1.FileContent{Inline: &extensionsv1alpha1.FileContentInline{Data: "ID=transplant\n"}},
	}}
	if obj.Spec.Purpose == extensionsv1alpha1.OperatingSystemConfigPurposeReconcile {
		contract.Publish(ctx, func() { obj.Status.ExtensionFiles = added })
		return nil
	}
	content, err := p.render(ctx, obj, added)
	if err != nil {
		return err
	}
	secret := cloudConfigSecret(obj)
	if err := contract.Deploy(ctx, p.Seed, obj, secret, func(s *corev1.Secret) {
		s.Data = map[string][]byte{keyCloudConfig: []byte(content)}
	}); err != nil {
		return err
	}
	contract.Publish(ctx, func() {
		obj.Status.CloudConfig = &extensionsv1alpha1.CloudConfig{
			SecretRef: corev1.SecretReference{Namespace: secret.Namespace, Name: secret.Name},
		}
	})
	return nil
}

func cloudConfigSecret(obj *extensionsv1alpha1.OperatingSystemConfig) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: obj.Namespace, Name: cloudConfigSecretPrefix +
		obj.Name}}
}

// render makes the user data of a machine: the document that the gardenlet has put among the files, with the other
// files and the units added to it.
func (p *Provider) render(ctx context.Context, obj *extensionsv1alpha1.OperatingSystemConfig,
	added []extensionsv1alpha1.File) (string, error) {
	var node *cloud.NodeUserData
	var files []cloud.File
	for _, file := range append(append([]extensionsv1alpha1.File{}, obj.Spec.Files...), added...) {
		content, err := p.fileContent(ctx, obj.Namespace, file)
		if err != nil {
			return "", err
		}
		if file.Path != nodeFile {
			files = append(files, cloud.File{Path: file.Path, Content: content, Permissions: ptr.Deref(file.Permissions, 0)})
			continue
		}
		if node, err = cloud.ParseNodeUserData(string(content)); err != nil {
			return "", contract.WithCodes(err, gardencorev1beta1.ErrorConfigurationProblem)
		}
	}
	if node == nil {
		err := fmt.Errorf("render %q: the file %s is missing, so nothing says how a machine joins", obj.Name, nodeFile)
		return "", contract.WithCodes(err, gardencorev1beta1.ErrorConfigurationProblem)
	}
	var err error
	if node.Files, node.Folders, err = configureContainerd(obj.Spec.CRIConfig, files); err != nil {
		return "", fmt.Errorf("render %q: %w", obj.Name, err)
	}
	for _, unit := range obj.Spec.Units {
		node.Units = append(node.Units, cloud.Unit{Name: unit.Name, Content: ptr.Deref(unit.Content, ""),
			Enable: unit.Enable})
	}
	return node.Marshal()
}

func (p *Provider) fileContent(ctx context.Context, namespace string, file extensionsv1alpha1.File) ([]byte, error) {
	content, err := file.Content.Read(func(name string) (map[string][]byte, error) {
		secret := &corev1.Secret{}
		err := p.Seed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
		return secret.Data, err
	})
	switch {
	case err == nil:
		return content, nil
	case file.Content.SecretRef != nil:
		return nil, fmt.Errorf("read the content of the file %s: %w", file.Path, err)
	}
	return nil, contract.WithCodes(fmt.Errorf("read the content of the file %s: %w", file.Path, err),
		gardencorev1beta1.ErrorConfigurationProblem)
}

func (p *Provider) discardCloudConfig(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.OperatingSystemConfig,
	_ *contract.Cluster) error {
	return reference.Discard(ctx, p.Seed, cloudConfigSecret(obj))
}
