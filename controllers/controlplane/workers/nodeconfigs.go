package workers

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/contract"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootaccess"
	"github.com/transplant-sim/transplant/controllers/patch"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

// NodeConfigs are what the nodes of a shoot join with, and what their agents apply.
type NodeConfigs struct {
	*scope.Scope
	objects *contract.Objects
	secrets *secrets.Secrets
	access  *shootaccess.Access
	// settled are the OperatingSystemConfigs of nodes that run, by pool, once their extension has dealt with them.
	settled map[string]*extensionsv1alpha1.OperatingSystemConfig
}

// NewNodeConfigs makes it over a scope.
func NewNodeConfigs(s *scope.Scope) *NodeConfigs {
	return &NodeConfigs{s, &contract.Objects{Scope: s}, &secrets.Secrets{Scope: s}, shootaccess.New(s),
		map[string]*extensionsv1alpha1.OperatingSystemConfig{}}
}

// NodeFile is the file of a provision OperatingSystemConfig with which a machine joins the shoot. Its content
// is a cloud.NodeUserData document; the extension adds the other files and units to it.
const NodeFile = "/etc/transplant/node.json"

// operatingSystemConfig names an OperatingSystemConfig of a pool (docs/specification/api.md#spec-1-9). The key changes
// with what makes nodes roll, so that nodes which are there keep theirs.
func (n *NodeConfigs) operatingSystemConfig(worker gardencorev1beta1.Worker,
	purpose extensionsv1alpha1.OperatingSystemConfigPurpose) (*extensionsv1alpha1.OperatingSystemConfig, error) {
	key, err := n.agentSecretName(worker)
	if err != nil {
		return nil, err
	}
	suffix := "original"
	if purpose == extensionsv1alpha1.OperatingSystemConfigPurposeProvision {
		suffix = "init"
	}
	return &extensionsv1alpha1.OperatingSystemConfig{ObjectMeta: n.Meta(key + "-" + suffix)}, nil
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

// Deploy deploys or restores both OperatingSystemConfigs of each pool. Extensions may change the
// one for nodes that run as it is written, by webhooks, to add mirrors of registries for one
// (docs/specification/nodes-and-seeds.md#spec-7-3): new machines begin with what has become of it.
func (n *NodeConfigs) Deploy(ctx context.Context) error {
	runtimes := map[string]*extensionsv1alpha1.CRIConfig{}
	return n.each(func(worker gardencorev1beta1.Worker,
		purpose extensionsv1alpha1.OperatingSystemConfigPurpose) error {
		files, err := n.files(ctx, worker, purpose)
		if err != nil {
			return err
		}
		config, err := n.operatingSystemConfig(worker, purpose)
		if err != nil {
			return err
		}
		wanted := runtimes[worker.Name]
		if wanted == nil {
			wanted = containerRuntime(worker)
		}
		err = n.objects.Deploy(ctx, config, func() error {
			config.Spec.Type = n.Shoot.Spec.Provider.Type
			// The operating system says whose it is: its extension has the name of the machine image as type.
			if image := worker.Machine.Image; image != nil {
				config.Spec.Type, config.Spec.ProviderConfig = image.Name, image.ProviderConfig
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

// Wait waits for all of them.
func (n *NodeConfigs) Wait(ctx context.Context) error {
	return n.each(func(worker gardencorev1beta1.Worker,
		purpose extensionsv1alpha1.OperatingSystemConfigPurpose) error {
		config, err := n.operatingSystemConfig(worker, purpose)
		if err != nil {
			return err
		}
		if err := n.objects.Wait(ctx, config); err != nil {
			return err
		}
		if purpose == extensionsv1alpha1.OperatingSystemConfigPurposeReconcile {
			n.settled[worker.Name] = config
		}
		return nil
	})
}

func (n *NodeConfigs) each(do func(gardencorev1beta1.Worker,
	extensionsv1alpha1.OperatingSystemConfigPurpose) error) error {
	for _, worker := range n.Shoot.Spec.Provider.Workers {
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

// files are those with which a new machine of the pool joins; nodes that are there need none.
func (n *NodeConfigs) files(ctx context.Context, worker gardencorev1beta1.Worker,
	purpose extensionsv1alpha1.OperatingSystemConfigPurpose) ([]extensionsv1alpha1.File, error) {
	if purpose != extensionsv1alpha1.OperatingSystemConfigPurposeProvision {
		return nil, nil
	}
	ca, err := n.secrets.Data(ctx, secrets.CA)
	if err != nil {
		return nil, err
	}
	tokens, err := n.secrets.Data(ctx, secrets.StaticToken)
	if err != nil {
		return nil, err
	}
	agent, err := n.agentSecretName(worker)
	if err != nil {
		return nil, err
	}
	inPlace, err := n.inPlace(worker)
	if err != nil {
		return nil, err
	}
	data := cloud.NodeUserData{
		Shoot:       n.Namespace(),
		Server:      n.APIServerURL(),
		CAData:      ca[secrets.KeyCACert],
		Token:       string(tokens[secrets.KeyNodeToken]),
		Pool:        worker.Name,
		Labels:      poolLabels(worker, agent),
		Annotations: worker.Annotations,
		Taints: []cloud.Taint{{Key: cloud.TaintCriticalComponentsNotReady,
			Effect: string(corev1.TaintEffectNoSchedule)}},
		KubeletVersion: kubeletVersion(n.Shoot, worker),
		AgentSecret:    agent,
		InPlace:        inPlace,
	}
	if lifecycle.RealNodes(n.Shoot) {
		authority, err := n.secrets.Data(ctx, secrets.CAKubelet)
		if err != nil {
			return nil, err
		}
		data.KubeletClientCA = authority[secrets.KeyCACert]
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

// nodeAgentSecretPrefix begins the names of the Secrets in the shoot by which nodes are changed as they run.
const nodeAgentSecretPrefix = "gardener-node-agent-"

// agentSecretName is the key of a pool's nodes (docs/specification/versions.md#spec-4-8): it changes when they must
// roll, and then only. For a pool whose nodes are updated in place it is the pool's name alone
// (docs/specification/versions.md#spec-4-9). It follows from the Shoot, so that it is the same on every seed.
func (n *NodeConfigs) agentSecretName(worker gardencorev1beta1.Worker) (string, error) {
	if worker.UpdatesInPlace() {
		return nodeAgentSecretPrefix + worker.Name, nil
	}
	fingerprint, err := rollout.Fingerprint(n.Shoot, &worker)
	if err != nil {
		return "", fmt.Errorf("find out whether pool %q rolls: %w", worker.Name, err)
	}
	return nodeAgentSecretPrefix + worker.Name + "-" + fingerprint, nil
}

func kubeletVersion(shoot *gardencorev1beta1.Shoot, worker gardencorev1beta1.Worker) string {
	return "v" + strings.TrimPrefix(worker.KubernetesVersion(shoot), "v")
}

// DeployAgentSecrets gives the nodes of each pool what changes without a roll: a patch version of the kubelet, and the
// files of its OperatingSystemConfig.
// Nodes look at the Secret of their own key, so that those of before a roll stay as they are.
func (n *NodeConfigs) DeployAgentSecrets(ctx context.Context) error {
	shoot, err := n.access.Client(ctx)
	if err != nil {
		return err
	}
	for _, worker := range n.Shoot.Spec.Provider.Workers {
		name, err := n.agentSecretName(worker)
		if err != nil {
			return err
		}
		config, err := n.agentConfig(ctx, worker)
		if err != nil {
			return err
		}
		content, err := json.Marshal(config)
		if err != nil {
			return fmt.Errorf("write the node agent's configuration of pool %q: %w", worker.Name, err)
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}}
		if err := patch.CreateOrPatch(ctx, shoot, secret, func(s *corev1.Secret) error {
			metav1.SetMetaDataLabel(&s.ObjectMeta, constants.GardenRole, cloud.NodeAgentRole)
			metav1.SetMetaDataLabel(&s.ObjectMeta, constants.WorkerPool, worker.Name)
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, constants.ChecksumNodeConfig, fmt.Sprintf("%x", sha256.Sum256(content)))
			s.Data = map[string][]byte{cloud.NodeAgentConfigKey: content}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func (n *NodeConfigs) agentConfig(ctx context.Context, worker gardencorev1beta1.Worker) (cloud.NodeAgentConfig,
	error) {
	config := cloud.NodeAgentConfig{KubeletVersion: kubeletVersion(n.Shoot, worker)}
	var err error
	if config.Files, err = n.nodeFiles(ctx, worker); err != nil {
		return config, err
	}
	inPlace, err := n.inPlace(worker)
	if err != nil || inPlace == "" {
		return config, err
	}
	config.InPlace = inPlace
	if image := worker.Machine.Image; image != nil {
		config.Image = image.Name + "-" + ptr.Deref(image.Version, "")
	}
	return config, nil
}

// inPlace stands for everything to which the pool's nodes are updated in place; empty for a pool that rolls.
func (n *NodeConfigs) inPlace(worker gardencorev1beta1.Worker) (string, error) {
	if !worker.UpdatesInPlace() {
		return "", nil
	}
	fingerprint, err := rollout.InPlaceFingerprint(n.Shoot, &worker)
	if err != nil {
		return "", fmt.Errorf("find what pool %q is updated to in place: %w", worker.Name, err)
	}
	return fingerprint, nil
}

// DeleteStale removes the OperatingSystemConfigs, and the Secrets in the shoot, of keys that no pool has any
// more: after the last node of them is gone.
func (n *NodeConfigs) DeleteStale(ctx context.Context) error {
	configs, secrets := map[string]bool{}, map[string]bool{}
	err := n.each(func(worker gardencorev1beta1.Worker,
		purpose extensionsv1alpha1.OperatingSystemConfigPurpose) error {
		config, err := n.operatingSystemConfig(worker, purpose)
		if err != nil {
			return err
		}
		name, err := n.agentSecretName(worker)
		configs[config.Name], secrets[name] = true, true
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(n.objects.DeleteStale(ctx, extensionsv1alpha1.OperatingSystemConfigResource, configs),
		n.deleteStaleSecrets(ctx, secrets))
}

func (n *NodeConfigs) deleteStaleSecrets(ctx context.Context, wanted map[string]bool) error {
	shoot, err := n.access.Client(ctx)
	if err != nil {
		return err
	}
	list := &corev1.SecretList{}
	if err := shoot.List(ctx, list, client.InNamespace(metav1.NamespaceSystem),
		client.MatchingLabels{constants.GardenRole: cloud.NodeAgentRole}); err != nil {
		return fmt.Errorf("list the node agents' secrets in the shoot: %w", err)
	}
	for i := range list.Items {
		if secret := &list.Items[i]; !wanted[secret.Name] {
			if err := objects.Remove(ctx, shoot, secret); err != nil {
				return err
			}
		}
	}
	return nil
}
