package workers

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// withPool is a run for a shoot with one pool, and the shoot's API server.
func withPool(t *testing.T, kubernetes string, more func(*gardencorev1beta1.Worker)) (*NodeConfigs, client.Client) {
	t.Helper()
	secret := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: name}}
	}
	o := NewNodeConfigs(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{},
		secret("ca"),
		secret("static-token")))
	worker := gardencorev1beta1.Worker{
		Name: "pool", Machine: gardencorev1beta1.Machine{Type: "medium",
			Image: &gardencorev1beta1.ShootMachineImage{Name: "linux", Version: ptr.To("1.0.0")}},
	}
	if more != nil {
		more(&worker)
	}
	o.Shoot.Spec.Kubernetes.Version, o.Shoot.Spec.Provider.Workers = kubernetes, []gardencorev1beta1.Worker{worker}
	shoot := fake.NewClientBuilder().WithScheme(controlplanetest.SeedScheme(t)).Build()
	o.Shoots = controlplanetest.OneShoot{Client: shoot}
	return o, shoot
}

func agentKey(t *testing.T, kubernetes string, more func(*gardencorev1beta1.Worker)) string {
	t.Helper()
	o, _ := withPool(t, kubernetes, more)
	key, err := o.agentSecretName(o.Shoot.Spec.Provider.Workers[0])
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestKeyOfNodes: whether nodes roll is package rollout's to know; that what it says decides is seen here.
func TestKeyOfNodes(t *testing.T) {
	t.Parallel()
	key := agentKey(t, "1.35.1", nil)
	if !strings.HasPrefix(key, "gardener-node-agent-pool-") || len(key) != len("gardener-node-agent-pool-")+16 {
		t.Errorf("the key is %q", key)
	}
	inPlace := func(w *gardencorev1beta1.Worker) { w.UpdateStrategy = ptr.To(gardencorev1beta1.AutoInPlaceUpdate) }
	for _, c := range []struct {
		name, kubernetes string
		more             func(*gardencorev1beta1.Worker)
		same             bool
	}{
		{"another patch version", "1.35.2", nil, true},
		{"another minor version", "1.36.0", nil, false},
		{"another image", "1.35.1", func(w *gardencorev1beta1.Worker) { w.Machine.Image.Version = ptr.To("1.0.1") }, false},
		{"another volume", "1.35.1", func(w *gardencorev1beta1.Worker) {
			w.Volume = &gardencorev1beta1.Volume{VolumeSize: "20Gi"}
		}, false},
		{"labels and sizes", "1.35.1", func(w *gardencorev1beta1.Worker) {
			w.Labels, w.Maximum = map[string]string{"a": "b"}, 9
		}, true},
	} {
		if got := agentKey(t, c.kubernetes, c.more); (got == key) != c.same {
			t.Errorf("%s: the key %q becomes %q", c.name, key, got)
		}
	}
	if got := agentKey(t, "1.35.1", inPlace); got != "gardener-node-agent-pool" || got != agentKey(t, "1.36.0", inPlace) {
		t.Errorf("the key of a pool that is updated in place is %q", got)
	}
	o, _ := withPool(t, "newest", nil)
	if _, err := o.agentSecretName(o.Shoot.Spec.Provider.Workers[0]); err == nil ||
		!strings.Contains(err.Error(),
			`find out whether pool "pool" rolls`) {
		t.Errorf("a version that cannot be read: %v", err)
	}
}

// TestNodeConfigs: nodes of before a roll keep their configuration until they are gone, then it goes, too.
func TestNodeConfigs(t *testing.T) {
	t.Parallel()
	o, shoot := withPool(t, "1.35.1", nil)
	config := func(key string) *extensionsv1alpha1.OperatingSystemConfig {
		return &extensionsv1alpha1.OperatingSystemConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha",
			Name: key + "-init"}}
	}
	contents := func() map[string]string {
		list := &corev1.SecretList{}
		if err := shoot.List(t.Context(), list, client.InNamespace("kube-system")); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, s := range list.Items {
			got[s.Name] = string(s.Data["config.json"])
			if sum := fmt.Sprintf("%x", sha256.Sum256(s.Data["config.json"])); s.Annotations["checksum/data-script"] != sum {
				t.Errorf("the checksum of %s is %q, not %s", s.Name, s.Annotations["checksum/data-script"], sum)
			}
		}
		return got
	}
	applied := func(kubelet string) string {
		return `{"kubeletVersion":"` + kubelet + `","files":[{"path":"/etc/of","content":"cw==","hostName":"node-1"},` +
			`{"path":"/etc/os","content":"YQ==","permissions":420},` +
			`{"path":"/etc/systemd/system/x.service","content":"Yw==","permissions":420},` +
			`{"path":"/etc/systemd/system/x.service.d/10.conf","content":"ZA==","permissions":420}]}`
	}
	update := func(version, key string, want map[string]string) {
		t.Helper()
		o.Shoot.Spec.Kubernetes.Version = version
		running := config(key)
		running.Name = key + "-original"
		running.Spec.Files = []extensionsv1alpha1.File{{Path: "/etc/of", HostName: ptr.To("node-1"),
			Content: extensionsv1alpha1.FileContent{SecretRef: &extensionsv1alpha1.FileContentSecretRef{Name: "s",
				DataKey: "k"}}}}
		running.Status.ExtensionFiles = []extensionsv1alpha1.File{{Path: "/etc/os", Permissions: ptr.To[uint32](0o644),
			Content: extensionsv1alpha1.FileContent{Inline: &extensionsv1alpha1.FileContentInline{Encoding: "b64",
				Data: "YQ=="}}}}
		running.Status.ExtensionUnits = []extensionsv1alpha1.Unit{{Name: "x.service", Content: ptr.To("c"),
			DropIns: []extensionsv1alpha1.DropIn{{Name: "10.conf", Content: "d"}}}}
		for _, object := range []client.Object{config(key), running, &corev1.Secret{Data: map[string][]byte{"k": []byte("s")},
			ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: "s"}}} {
			if err := o.Seed.Create(t.Context(), object); client.IgnoreAlreadyExists(err) != nil {
				t.Fatal(err)
			}
		}
		if err := o.DeployAgentSecrets(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, contents()); diff != "" {
			t.Errorf("at %s (-want +got):\n%s", version, diff)
		}
	}
	before, after := agentKey(t, "1.35.1", nil), agentKey(t, "1.36.0", nil)
	update("1.35.1", before, map[string]string{before: applied("v1.35.1")})
	update("1.35.2", before, map[string]string{before: applied("v1.35.2")})
	update("1.36.0", after, map[string]string{before: applied("v1.35.2"),
		after: applied("v1.36.0")})
	if err := o.DeleteStale(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{after: applied("v1.36.0")}, contents()); diff != "" {
		t.Errorf("secrets that are left (-want +got):\n%s", diff)
	}
	configs := &extensionsv1alpha1.OperatingSystemConfigList{}
	if err := o.Seed.List(t.Context(), configs); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range configs.Items {
		names[c.Name] = true
	}
	if diff := cmp.Diff([]string{after + "-init", after + "-original"}, slices.Sorted(maps.Keys(names))); diff != "" {
		t.Errorf("operating system configs that are left (-want +got):\n%s", diff)
	}
}
