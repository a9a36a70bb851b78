package controlplane

import (
	"context"
	"encoding/base64"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// NodeFile is the file of a provision OperatingSystemConfig with which a machine joins the shoot. Its content
// is a cloud.NodeUserData document; the extension adds the other files and units to it.
const NodeFile = "/etc/transplant/node.json"

// userDataKey is the key of the secret that an OperatingSystemConfig's cloud config is in.
const userDataKey = "cloud_config"

// operatingSystemConfig names an OperatingSystemConfig of a pool (docs/specification/api.md#spec-1-9). The key changes
// with what makes nodes roll, so that nodes which are there keep theirs.
func (o *Operation) operatingSystemConfig(worker gardencorev1beta1.Worker,
	purpose extensionsv1alpha1.OperatingSystemConfigPurpose) (*extensionsv1alpha1.OperatingSystemConfig, error) {
	key, err := o.nodeAgentSecretName(worker)
	if err != nil {
		return nil, err
	}
	suffix := "original"
	if purpose == extensionsv1alpha1.OperatingSystemConfigPurposeProvision {
		suffix = "init"
	}
	return &extensionsv1alpha1.OperatingSystemConfig{ObjectMeta: o.meta(key + "-" + suffix)}, nil
}

// sandboxImage is what containerd keeps the namespaces of pods with.
const sandboxImage = "registry.k8s.io/pause:3.10.1"

// containerRuntime is how the container runtime of a pool's nodes is to be configured, before extensions add to it.
func containerRuntime(worker gardencorev1beta1.Worker) *extensionsv1alpha1.CRIConfig {
	name := extensionsv1alpha1.CRINameContainerD
	if worker.CRI != nil {
		name = extensionsv1alpha1.CRIName(worker.CRI.Name)
	}
	return &extensionsv1alpha1.CRIConfig{
		Name: name, CgroupDriver: ptr.To(extensionsv1alpha1.CgroupDriverSystemd),
		Containerd: &extensionsv1alpha1.ContainerdConfig{SandboxImage: sandboxImage},
	}
}

// DeployOperatingSystemConfigs deploys or restores both OperatingSystemConfigs of each pool. Extensions may change the
// one for nodes that run as it is written, by webhooks, to add mirrors of registries for one
// (docs/specification/nodes-and-seeds.md#spec-7-3): new machines begin with what has become of it.
func (o *Operation) DeployOperatingSystemConfigs(ctx context.Context) error {
	runtimes := map[string]*extensionsv1alpha1.CRIConfig{}
	return o.eachOperatingSystemConfig(func(worker gardencorev1beta1.Worker,
		purpose extensionsv1alpha1.OperatingSystemConfigPurpose) error {
		files, err := o.nodeFiles(ctx, worker, purpose)
		if err != nil {
			return err
		}
		config, err := o.operatingSystemConfig(worker, purpose)
		if err != nil {
			return err
		}
		wanted := runtimes[worker.Name]
		if wanted == nil {
			wanted = containerRuntime(worker)
		}
		err = o.DeployExtension(ctx, config, func() error {
			config.Spec.Type = o.Shoot.Spec.Provider.Type
			if image := worker.Machine.Image; image != nil {
				config.Spec.ProviderConfig = image.ProviderConfig
			}
			config.Spec.Purpose = purpose
			config.Spec.Files = files
			config.Spec.CRIConfig = wanted.DeepCopy()
			return nil
		})
		runtimes[worker.Name] = config.Spec.CRIConfig
		return err
	})
}

// WaitOperatingSystemConfigs waits for all of them.
func (o *Operation) WaitOperatingSystemConfigs(ctx context.Context) error {
	return o.eachOperatingSystemConfig(func(worker gardencorev1beta1.Worker,
		purpose extensionsv1alpha1.OperatingSystemConfigPurpose) error {
		config, err := o.operatingSystemConfig(worker, purpose)
		if err != nil {
			return err
		}
		return o.WaitExtension(ctx, config)
	})
}

func (o *Operation) eachOperatingSystemConfig(do func(gardencorev1beta1.Worker,
	extensionsv1alpha1.OperatingSystemConfigPurpose) error) error {
	for _, worker := range o.Shoot.Spec.Provider.Workers {
		for _, purpose := range []extensionsv1alpha1.OperatingSystemConfigPurpose{
			extensionsv1alpha1.OperatingSystemConfigPurposeReconcile, extensionsv1alpha1.OperatingSystemConfigPurposeProvision,
		} {
			if err := do(worker, purpose); err != nil {
				return err
			}
		}
	}
	return nil
}

// nodeFiles are those with which a new machine of the pool joins; nodes that are there need none.
func (o *Operation) nodeFiles(ctx context.Context, worker gardencorev1beta1.Worker,
	purpose extensionsv1alpha1.OperatingSystemConfigPurpose) ([]extensionsv1alpha1.File, error) {
	if purpose != extensionsv1alpha1.OperatingSystemConfigPurposeProvision {
		return nil, nil
	}
	ca, err := o.SecretData(ctx, SecretCA)
	if err != nil {
		return nil, err
	}
	tokens, err := o.SecretData(ctx, SecretStaticToken)
	if err != nil {
		return nil, err
	}
	agent, err := o.nodeAgentSecretName(worker)
	if err != nil {
		return nil, err
	}
	inPlace, err := o.inPlace(worker)
	if err != nil {
		return nil, err
	}
	data := cloud.NodeUserData{
		Shoot:       o.Namespace(),
		Server:      o.APIServerURL(),
		CAData:      ca[keyCACert],
		Token:       string(tokens[keyNodeToken]),
		Pool:        worker.Name,
		Labels:      o.poolLabels(worker),
		Annotations: worker.Annotations,
		Taints: []cloud.Taint{{Key: cloud.TaintCriticalComponentsNotReady,
			Effect: string(corev1.TaintEffectNoSchedule)}},
		KubeletVersion: kubeletVersion(o.Shoot, worker),
		AgentSecret:    agent,
		InPlace:        inPlace,
	}
	for _, taint := range worker.Taints {
		data.Taints = append(data.Taints, cloud.Taint{Key: taint.Key, Value: taint.Value, Effect: string(taint.Effect)})
	}
	content, err := data.Marshal()
	if err != nil {
		return nil, err
	}
	return []extensionsv1alpha1.File{{
		Path:        NodeFile,
		Permissions: ptr.To[uint32](0o600),
		Content: extensionsv1alpha1.FileContent{Inline: &extensionsv1alpha1.FileContentInline{
			Encoding: "b64", Data: base64.StdEncoding.EncodeToString([]byte(content)),
		}},
	}}, nil
}

// userDataRef refers to the user data of new machines of a pool, which the extension rendered.
func (o *Operation) userDataRef(ctx context.Context, pool string) (*corev1.SecretKeySelector, error) {
	for _, worker := range o.Shoot.Spec.Provider.Workers {
		if worker.Name != pool {
			continue
		}
		config, err := o.operatingSystemConfig(worker, extensionsv1alpha1.OperatingSystemConfigPurposeProvision)
		if err != nil {
			return nil, err
		}
		if err := o.Seed.Get(ctx, o.key(config.Name), config); err != nil {
			return nil, describe("read", config, o.Seed, err)
		}
		if config.Status.CloudConfig == nil {
			return nil, fmt.Errorf("operating system config %q has no cloud config yet", config.Name)
		}
		return &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: config.Status.CloudConfig.SecretRef.Name},
			Key:                  userDataKey,
		}, nil
	}
	return nil, fmt.Errorf("the shoot has no worker pool %q", pool)
}
