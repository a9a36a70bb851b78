package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// linuxType is the name of the machine image.
const linuxType = "example-linux"

// operatingSystem renders what machines boot with as a cloud-config, which their cloud-init applies.
type operatingSystem struct{ *program }

var _ actuator[*extensionsv1alpha1.OperatingSystemConfig] = operatingSystem{}

func addOperatingSystem(p *program) error {
	return serve(p, extensionsv1alpha1.OperatingSystemConfigResource, linuxType, operatingSystem{p})
}

// cloudConfig is the part of a cloud-config that is needed.
type cloudConfig struct {
	WriteFiles []writtenFile `json:"write_files"`
	RunCommand []string      `json:"runcmd"`
}

type writtenFile struct {
	Path        string `json:"path"`
	Permissions string `json:"permissions"`
	Encoding    string `json:"encoding"`
	Content     string `json:"content"`
}

func (o operatingSystem) reconcile(ctx context.Context, config *extensionsv1alpha1.OperatingSystemConfig) error {
	release := extensionsv1alpha1.File{
		Path: "/etc/example-linux-release", Permissions: ptr.To[uint32](0o644),
		Content: extensionsv1alpha1.FileContent{Inline: &extensionsv1alpha1.FileContentInline{
			Data: "CHANNEL=" + o.config.Settings["channel"] + "\n"}},
	}
	if config.Spec.Purpose == extensionsv1alpha1.OperatingSystemConfigPurposeReconcile {
		return patchStatus(ctx, o.Client, config, func() {
			config.Status.ExtensionFiles = []extensionsv1alpha1.File{release}
		})
	}
	content, err := o.render(ctx, config, append(config.Spec.Files, release))
	if err != nil {
		return err
	}
	secret := resultOf(config)
	if _, err := controllerutil.CreateOrPatch(ctx, o.Client, secret, func() error {
		secret.Data = map[string][]byte{"cloud_config": content}
		return nil
	}); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return patchStatus(ctx, o.Client, config, func() {
		config.Status.CloudConfig = &extensionsv1alpha1.CloudConfig{
			SecretRef: corev1.SecretReference{Namespace: secret.Namespace, Name: secret.Name}}
	})
}

func resultOf(config *extensionsv1alpha1.OperatingSystemConfig) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "osc-result-" + config.Name}}
}

func (o operatingSystem) render(ctx context.Context, config *extensionsv1alpha1.OperatingSystemConfig,
	files []extensionsv1alpha1.File) ([]byte, error) {
	result := cloudConfig{RunCommand: []string{"systemctl daemon-reload"}}
	write := func(path string, permissions uint32, content []byte) {
		result.WriteFiles = append(result.WriteFiles, writtenFile{Path: path, Encoding: "b64",
			Permissions: fmt.Sprintf("%04o", permissions), Content: base64.StdEncoding.EncodeToString(content)})
	}
	for _, file := range files {
		content, err := o.content(ctx, config.Namespace, file)
		if err != nil {
			return nil, fmt.Errorf("read the content of %s: %w", file.Path, err)
		}
		write(file.Path, ptr.Deref(file.Permissions, 0o600), content)
	}
	for _, unit := range config.Spec.Units {
		write("/etc/systemd/system/"+unit.Name, 0o644, []byte(ptr.Deref(unit.Content, "")))
		if ptr.Deref(unit.Enable, true) {
			result.RunCommand = append(result.RunCommand, "systemctl enable --now "+unit.Name)
		}
	}
	content, err := yaml.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("write the cloud-config: %w", err)
	}
	return append([]byte("#cloud-config\n"), content...), nil
}

func (o operatingSystem) content(ctx context.Context, namespace string, file extensionsv1alpha1.File) ([]byte, error) {
	switch source := file.Content; {
	case source.Inline != nil && strings.HasPrefix(source.Inline.Encoding, "b"):
		return base64.StdEncoding.DecodeString(source.Inline.Data)
	case source.Inline != nil:
		return []byte(source.Inline.Data), nil
	case source.SecretRef != nil:
		secret := &corev1.Secret{}
		err := o.Get(ctx, client.ObjectKey{Namespace: namespace, Name: source.SecretRef.Name}, secret)
		return secret.Data[source.SecretRef.DataKey], err
	}
	return nil, fmt.Errorf("it is neither inline nor in a Secret")
}

func (o operatingSystem) migrate(ctx context.Context, config *extensionsv1alpha1.OperatingSystemConfig) error {
	return o.remove(ctx, config)
}

func (o operatingSystem) remove(ctx context.Context, config *extensionsv1alpha1.OperatingSystemConfig) error {
	return discard(ctx, o.Client, resultOf(config))
}
