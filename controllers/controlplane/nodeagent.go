package controlplane

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

// nodeAgentSecretPrefix begins the names of the Secrets in the shoot by which nodes are changed as they run.
const nodeAgentSecretPrefix = "gardener-node-agent-"

// nodeAgentSecretName is the key of a pool's nodes (docs/specification/versions.md#spec-4-8): it changes when they must
// roll, and then only. For a pool whose nodes are updated in place it is the pool's name alone
// (docs/specification/versions.md#spec-4-9). It follows from the Shoot, so that it is the same on every seed.
func (o *Operation) nodeAgentSecretName(worker gardencorev1beta1.Worker) (string, error) {
	if rollout.UpdatesInPlace(&worker) {
		return nodeAgentSecretPrefix + worker.Name, nil
	}
	fingerprint, err := rollout.Fingerprint(o.Shoot, &worker)
	if err != nil {
		return "", fmt.Errorf("find out whether pool %q rolls: %w", worker.Name, err)
	}
	return nodeAgentSecretPrefix + worker.Name + "-" + fingerprint, nil
}

func kubeletVersion(shoot *gardencorev1beta1.Shoot, worker gardencorev1beta1.Worker) string {
	return "v" + strings.TrimPrefix(poolVersion(shoot, worker), "v")
}

// DeployNodeAgentSecrets gives the nodes of each pool what changes without a roll: a patch version of the kubelet.
// Nodes look at the Secret of their own key, so that those of before a roll stay as they are.
func (o *Operation) DeployNodeAgentSecrets(ctx context.Context) error {
	shoot, err := o.ShootClient(ctx)
	if err != nil {
		return err
	}
	for _, worker := range o.Shoot.Spec.Provider.Workers {
		name, err := o.nodeAgentSecretName(worker)
		if err != nil {
			return err
		}
		config, err := o.nodeAgentConfig(worker)
		if err != nil {
			return err
		}
		content, err := json.Marshal(config)
		if err != nil {
			return fmt.Errorf("write the node agent's configuration of pool %q: %w", worker.Name, err)
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}}
		if err := createOrPatch(ctx, shoot, secret, func(s *corev1.Secret) error {
			if s.Labels == nil {
				s.Labels = map[string]string{}
			}
			s.Labels[constants.GardenRole], s.Labels[constants.WorkerPool] = cloud.NodeAgentRole, worker.Name
			if s.Annotations == nil {
				s.Annotations = map[string]string{}
			}
			s.Annotations[constants.ChecksumNodeConfig] = fmt.Sprintf("%x", sha256.Sum256(content))
			s.Data = map[string][]byte{cloud.NodeAgentConfigKey: content}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func (o *Operation) nodeAgentConfig(worker gardencorev1beta1.Worker) (cloud.NodeAgentConfig, error) {
	config := cloud.NodeAgentConfig{KubeletVersion: kubeletVersion(o.Shoot, worker)}
	inPlace, err := o.inPlace(worker)
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
func (o *Operation) inPlace(worker gardencorev1beta1.Worker) (string, error) {
	if !rollout.UpdatesInPlace(&worker) {
		return "", nil
	}
	fingerprint, err := rollout.InPlaceFingerprint(o.Shoot, &worker)
	if err != nil {
		return "", fmt.Errorf("find what pool %q is updated to in place: %w", worker.Name, err)
	}
	return fingerprint, nil
}

// DeleteStaleNodeConfigs removes the OperatingSystemConfigs, and the Secrets in the shoot, of keys that no pool has any
// more: after the last node of them is gone.
func (o *Operation) DeleteStaleNodeConfigs(ctx context.Context) error {
	configs, secrets := map[string]bool{}, map[string]bool{}
	err := o.eachOperatingSystemConfig(func(worker gardencorev1beta1.Worker,
		purpose extensionsv1alpha1.OperatingSystemConfigPurpose) error {
		config, err := o.operatingSystemConfig(worker, purpose)
		if err != nil {
			return err
		}
		name, err := o.nodeAgentSecretName(worker)
		configs[config.Name], secrets[name] = true, true
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(o.deleteStaleConfigs(ctx, configs), o.deleteStaleSecrets(ctx, secrets))
}

func (o *Operation) deleteStaleConfigs(ctx context.Context, wanted map[string]bool) error {
	list := &extensionsv1alpha1.OperatingSystemConfigList{}
	if err := o.Seed.List(ctx, list, client.InNamespace(o.Namespace())); err != nil {
		return fmt.Errorf("list the operating system configs: %w", err)
	}
	stale := slices.DeleteFunc(list.Items, func(config extensionsv1alpha1.OperatingSystemConfig) bool {
		return wanted[config.Name]
	})
	for i := range stale {
		if err := o.DeleteExtension(ctx, &stale[i]); err != nil {
			return err
		}
	}
	for i := range stale {
		if err := o.WaitDeleted(ctx, &stale[i]); err != nil {
			return err
		}
	}
	return nil
}

func (o *Operation) deleteStaleSecrets(ctx context.Context, wanted map[string]bool) error {
	shoot, err := o.ShootClient(ctx)
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
			if err := remove(ctx, shoot, secret); err != nil {
				return err
			}
		}
	}
	return nil
}
