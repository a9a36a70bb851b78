package workers

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
)

// A pool of a Shoot, and what a Worker makes of it.
const (
	wholePool = `{
		"name": "pool", "minimum": 2, "maximum": 5, "maxSurge": 2, "maxUnavailable": "10%", "zones": ["here-1"],
		"priority": 7, "labels": {"mine": "yes"}, "annotations": {"note": "x"},
		"taints": [{"key": "k", "effect": "NoSchedule"}], "providerConfig": {"fast": true},
		"machine": {"type": "medium", "architecture": "arm64", "image": {"name": "simulated", "version": "1.0.0"}},
		"volume": {"name": "root", "type": "ssd", "size": "20Gi", "encrypted": true},
		"dataVolumes": [{"name": "logs", "type": "hdd", "size": "50Gi", "encrypted": false},
			{"name": "kubelet", "size": "30Gi"}],
		"kubeletDataVolumeName": "kubelet", "kubernetes": {"version": "1.35.1", "kubelet": {"maxPods": 40}},
		"machineControllerManager": {"maxEvictRetries": 3},
		"clusterAutoscaler": {"scaleDownUtilizationThreshold": 0.5, "scaleDownGpuUtilizationThreshold": 1,
			"scaleDownUnneededTime": "10m0s", "scaleDownUnreadyTime": "20m0s", "maxNodeProvisionTime": "5m0s"}}`
	wholeWorkerPool = `{
		"name": "pool", "minimum": 2, "maximum": 5, "maxSurge": 2, "maxUnavailable": "10%", "zones": ["here-1"],
		"priority": 7, "labels": {"mine": "yes", "worker.gardener.cloud/pool": "pool"}, "annotations": {"note": "x"},
		"taints": [{"key": "k", "effect": "NoSchedule"}], "providerConfig": {"fast": true},
		"machineType": "medium", "architecture": "arm64", "machineImage": {"name": "simulated", "version": "1.0.0"},
		"volume": {"name": "root", "type": "ssd", "size": "20Gi", "encrypted": true},
		"dataVolumes": [{"name": "logs", "type": "hdd", "size": "50Gi", "encrypted": false},
			{"name": "kubelet", "size": "30Gi"}],
		"kubeletDataVolumeName": "kubelet", "kubernetesVersion": "1.35.1", "kubeletConfig": {"maxPods": 40},
		"machineControllerManager": {"maxEvictRetries": 3},
		"clusterAutoscaler": {"scaleDownUtilizationThreshold": "0.5", "scaleDownGpuUtilizationThreshold": "1",
			"scaleDownUnneededTime": "10m0s", "scaleDownUnreadyTime": "20m0s", "maxNodeProvisionTime": "5m0s"}}`
)

// What a pool says reaches the Worker, also what nothing here acts on: the extension may, and an autoscaler
// (docs/specification/api.md#spec-1-9).
func TestAPoolReachesTheWorkerWhole(t *testing.T) {
	t.Parallel()
	at := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: name}
	}
	var worker gardencorev1beta1.Worker
	if err := json.Unmarshal([]byte(wholePool), &worker); err != nil {
		t.Fatal(err)
	}
	shoot := gardencorev1beta1.ShootSpec{Kubernetes: gardencorev1beta1.Kubernetes{Version: "1.36.3",
		Kubelet: &gardencorev1beta1.KubeletConfig{MaxPods: ptr.To[int32](99)}}}
	shoot.Provider.Type, shoot.Provider.Workers = "transplant",
		[]gardencorev1beta1.Worker{worker, {Name: "plain", Machine: worker.Machine}}
	objects := []client.Object{&extensionsv1alpha1.Infrastructure{ObjectMeta: at("alpha")},
		&corev1.Secret{ObjectMeta: at(secrets.SSHKeyPair)}}
	for _, pool := range shoot.Provider.Workers {
		named := NewNodeConfigs(&scope.Scope{Shoot: &gardencorev1beta1.Shoot{Spec: shoot}})
		config, err := named.operatingSystemConfig(pool, extensionsv1alpha1.OperatingSystemConfigPurposeProvision)
		if err != nil {
			t.Fatal(err)
		}
		config.Namespace = "shoot--p--alpha"
		config.Status.CloudConfig = &extensionsv1alpha1.CloudConfig{SecretRef: corev1.SecretReference{Name: "boot"}}
		objects = append(objects, config)
	}
	o := NewWorkers(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{},
		objects...))
	o.Shoot.Spec = shoot
	if err := o.Deploy(t.Context()); err != nil {
		t.Fatal(err)
	}
	deployed := o.object()
	if err := o.Seed.Get(t.Context(), client.ObjectKeyFromObject(deployed), deployed); err != nil {
		t.Fatal(err)
	}
	got, want := map[string]any{}, map[string]any{}
	data, err := json.Marshal(deployed.Spec.Pools[0])
	if err != nil {
		t.Fatal(err)
	}
	for text, into := range map[string]*map[string]any{string(data): &got, wholeWorkerPool: &want} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	labels := got["labels"].(map[string]any)
	if label := labels["worker.gardener.cloud/gardener-node-agent-secret-name"]; label != got["nodeAgentSecretName"] {
		t.Errorf("the label of the nodes names %v, the pool %v", label, got["nodeAgentSecretName"])
	}
	delete(labels, "worker.gardener.cloud/gardener-node-agent-secret-name")
	// By these the nodes roll and boot; others test them.
	delete(got, "nodeAgentSecretName")
	delete(got, "userDataSecretRef")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the pool (-want +got):\n%s", diff)
	}
	plain := deployed.Spec.Pools[1]
	if plain.DataVolumes != nil || plain.ClusterAutoscaler != nil || ptr.Deref(plain.KubeletConfig,
		gardencorev1beta1.KubeletConfig{}).MaxPods == nil || *plain.KubeletConfig.MaxPods != 99 {
		t.Errorf("a pool that says little: %+v", plain)
	}
}
