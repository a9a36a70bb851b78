package care

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/crds"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/care/health"
	"github.com/transplant-sim/transplant/controllers/care/health/healthtest"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

const technicalID = "shoot--p--alpha"

// fixture is one healthy shoot on a real API server, with the Reconciler that looks after it.
type fixture struct {
	client.Client
	clock      *testingclock.FakeClock
	reconciler *Reconciler

	config   *rest.Config
	healthz  atomic.Int32 // what /healthz answers instead of what it would; 0 for nothing
	requests atomic.Int32 // to the shoot
	asked    string       // where the shoot was asked for last
	onConfig func()       // what happens before the shoot is looked at
	// silentAgents is whether the node's agent renews nothing.
	silentAgents bool
}

var _ scope.ShootConfigs = &fixture{}

// Config reaches the API server whatever its name, and remembers the name.
func (f *fixture) Config(server string, _ []byte, token string) *rest.Config {
	f.asked = server
	if f.onConfig != nil {
		f.onConfig()
	}
	config := rest.CopyConfig(f.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &illness{next: next, healthz: &f.healthz, requests: &f.requests, refused: token != "secret"}
	})
	return config
}

// illness answers /healthz with a status of its own, and refuses who is not the administrator.
type illness struct {
	next     http.RoundTripper
	healthz  *atomic.Int32
	requests *atomic.Int32
	refused  bool
}

func (i *illness) RoundTrip(r *http.Request) (*http.Response, error) {
	i.requests.Add(1)
	code := int(i.healthz.Load())
	if i.refused {
		code = http.StatusUnauthorized
	}
	if code != 0 && r.URL.Path == "/healthz" {
		return &http.Response{
			StatusCode: code, Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
			Body: io.NopCloser(strings.NewReader("[-]etcd failed")),
		}, nil
	}
	return i.next.RoundTrip(r)
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	log.SetLogger(logr.Discard())
	f := &fixture{
		config: apiservertest.Start(t,
			apiservertest.Options{CRDs: crds.All(), Flags: []string{"--disable-admission-plugins=ServiceAccount"}}),
		clock: testingclock.NewFakeClock(time.Now().Truncate(time.Second)),
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, gardencorev1beta1.AddToScheme, extensionsv1alpha1.AddToScheme,
		machinev1alpha1.AddToScheme, resourcesv1alpha1.AddToScheme,
	} {
		must(t, add(scheme))
	}
	var err error
	f.Client, err = client.New(f.config, client.Options{Scheme: scheme})
	must(t, err)
	conf := health.Config{
		Thresholds: map[gardencorev1beta1.ConditionType]time.Duration{}, StaleExtensions: 5 * time.Minute,
		ProgressingManagedResources: time.Hour,
		Components: health.Components{
			Etcds: []string{"etcd-main"}, Always: []string{"kube-apiserver", "kube-controller-manager"},
			WithWorkers: []string{"kube-scheduler", "machine-controller"},
		},
	}
	for _, kind := range health.ConditionTypes() {
		conf.Thresholds[kind] = time.Minute
	}
	conf.Thresholds["EveryNodeReady"] = 5 * time.Minute
	f.reconciler = &Reconciler{
		Factory: &controlplane.Factory{
			Settings: scope.Settings{SeedName: "a", InternalDomain: "shoots.test", GatewayPort: 9443},
			Clock:    f.clock, Garden: f.Client, Seed: f.Client,
		},
		Seed: f.Client, Shoots: f, Config: conf, SyncPeriod: time.Minute, ExtensionNamespace: "extensions",
		ExtensionNamespaces: map[string]string{"Network/acme-net": "extension-acme"},
	}
	f.populateGarden(t)
	f.populateSeed(t)
	f.populateShoot(t)
	f.beat(t)
	return f
}

func (f *fixture) populateGarden(t testing.TB) {
	for _, name := range []string{"garden-p", technicalID, "extensions", "extension-acme"} {
		f.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	f.create(t, &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: gardencorev1beta1.SeedSpec{
		Provider: gardencorev1beta1.SeedProvider{Type: "transplant", Region: "here"},
		Networks: gardencorev1beta1.SeedNetworks{Pods: "10.1.0.0/16", Services: "10.2.0.0/16"},
	}})
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "alpha"}}
	shoot.Spec.Region, shoot.Spec.SeedName, shoot.Spec.Kubernetes.Version = "here", ptr.To("a"), "1.36.3"
	shoot.Spec.CloudProfile = &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: "profile"}
	shoot.Spec.Provider = gardencorev1beta1.Provider{Type: "transplant",
		Workers: []gardencorev1beta1.Worker{{Name: "pool", Minimum: 1, Maximum: 2,
			Machine: gardencorev1beta1.Machine{Type: "m"}}}}
	f.create(t, shoot)
	status := lastOperation("Create", "Succeeded", f.clock.Now().Add(-time.Hour))
	status["technicalID"], status["uid"], status["seedName"] = technicalID, string(shoot.UID), "a"
	foreign := func(kind, reason string) []any {
		at := f.clock.Now().UTC().Format(time.RFC3339)
		return []any{map[string]any{"type": kind, "status": "False", "reason": reason, "message": "m",
			"lastTransitionTime": at, "lastUpdateTime": at}}
	}
	status["conditions"], status["constraints"] = foreign("Foreign", "Reported"),
		foreign("EvacuationPossible", "NoDestination")
	f.status(t, shoot, status)
}

func (f *fixture) populateSeed(t testing.TB) {
	in := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: technicalID, Name: name, Labels: map[string]string{"app": name}}
	}
	selector := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	}
	pod := func(name string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{ObjectMeta: in(name),
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	}
	for name, data := range map[string]map[string][]byte{"ca": {"ca.crt": []byte("x"), "ca.key": []byte("x")},
		"static-token": {"cluster-admin": []byte("secret")}} {
		s := &corev1.Secret{ObjectMeta: in(name), Data: data}
		s.Labels = healthtest.Authority(name, 0).Labels
		s.Labels["valid-until-time"], s.Labels["managed-by"] = "9999999999", "secrets-manager"
		f.create(t, s)
	}
	extensions := &corev1.Secret{ObjectMeta: in("ca-of-an-extension"), Data: map[string][]byte{"ca.crt": []byte("x"),
		"ca.key": []byte("x")}}
	extensions.Labels["persist"] = "true"
	f.create(t, extensions)
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "machine-controller"} {
		d := &appsv1.Deployment{ObjectMeta: in(name), Spec: appsv1.DeploymentSpec{Selector: selector(name),
			Template: pod(name)}}
		f.create(t, d)
		f.status(t, d, deploymentStatus("True"))
	}
	etcd := &appsv1.StatefulSet{ObjectMeta: in("etcd-main"), Spec: appsv1.StatefulSetSpec{Selector: selector("etcd-main"),
		Template: pod("etcd-main"), ServiceName: "etcd-main"}}
	f.create(t, etcd)
	f.status(t, etcd, map[string]any{"observedGeneration": 1, "replicas": 1, "readyReplicas": 1})
	for name, label := range map[string]string{"in-shoot": "", "watching": "ObservabilityComponentsHealthy"} {
		m := &resourcesv1alpha1.ManagedResource{ObjectMeta: in(name)}
		m.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: "s"}}
		if label != "" {
			m.Spec.Class, m.Labels["care.gardener.cloud/condition-type"] = ptr.To("seed"), label
		}
		f.create(t, m)
		f.status(t, m, managedStatus("True"))
	}
	machines := &machinev1alpha1.MachineDeployment{ObjectMeta: in("pool"),
		Spec: machinev1alpha1.MachineDeploymentSpec{Replicas: 1}}
	f.create(t, machines)
	one := healthtest.Machine("node")
	one.Namespace = technicalID
	f.create(t, &one)
	worker := &extensionsv1alpha1.Worker{ObjectMeta: in("alpha")}
	worker.Spec.Type, worker.Spec.Region, worker.Spec.Pools = "transplant", "here", []extensionsv1alpha1.WorkerPool{}
	f.create(t, worker)
	f.status(t, worker, map[string]any{"conditions": []any{f.condition("EveryNodeReady", "True", "Fine")}})
}

func (f *fixture) populateShoot(t testing.TB) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node",
		Labels: map[string]string{"worker.gardener.cloud/pool": "pool"}}}
	f.create(t, n)
	f.status(t, n, nodeStatus("True"))
	f.create(t, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: "node"}})
	f.create(t, agentLease())
	f.create(t, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "extensions",
		Name: "gardener-extension-heartbeat"}})
}

// beat renews everything that must be renewed from time to time.
func (f *fixture) beat(t testing.TB) {
	t.Helper()
	f.renew(t, "extensions", "gardener-extension-heartbeat")
	f.renewNodeLeases(t)
}

func (f *fixture) renewNodeLeases(t testing.TB) {
	t.Helper()
	f.renew(t, "kube-node-lease", "node")
	if !f.silentAgents {
		f.renew(t, "kube-system", "gardener-node-agent-node")
	}
}

func agentLease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "gardener-node-agent-node"}}
}

func (f *fixture) renew(t testing.TB, namespace, name string) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	must(t, f.Patch(t.Context(), lease, mergePatch(t, map[string]any{"spec": map[string]any{
		"leaseDurationSeconds": 40, "renewTime": metav1.NewMicroTime(f.clock.Now()),
	}})))
}

func (f *fixture) look(t testing.TB) {
	t.Helper()
	result, err := f.reconciler.Reconcile(t.Context(),
		reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "garden-p", Name: "alpha"}})
	must(t, err)
	// Sooner, if something is not well yet that an operation has just made (TestNext).
	if period, next := f.reconciler.SyncPeriod, result.RequeueAfter; f.reconciler.cares(f.shoot(t)) &&
		(next > period || next < period/5) {
		t.Errorf("looks again after %s", result.RequeueAfter)
	}
}

func (f *fixture) shoot(t testing.TB) *gardencorev1beta1.Shoot {
	t.Helper()
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "alpha"}}
	f.get(t, shoot)
	return shoot
}

func (f *fixture) get(t testing.TB, object client.Object) {
	t.Helper()
	must(t, f.Get(t.Context(), client.ObjectKeyFromObject(object), object))
}

func (f *fixture) create(t testing.TB, object client.Object) {
	t.Helper()
	must(t, f.Create(t.Context(), object))
}

func (f *fixture) remove(t testing.TB, object client.Object) {
	t.Helper()
	must(t, f.Delete(t.Context(), object))
}

// status merges into the status of an object.
func (f *fixture) status(t testing.TB, object client.Object, status map[string]any) {
	t.Helper()
	must(t, f.Status().Patch(t.Context(), object.DeepCopyObject().(client.Object),
		mergePatch(t, map[string]any{"status": status})))
}

func mergePatch(t testing.TB, content map[string]any) client.Patch {
	t.Helper()
	var buffer bytes.Buffer
	must(t, json.NewEncoder(&buffer).Encode(content))
	return client.RawPatch(types.MergePatchType, buffer.Bytes())
}

func (f *fixture) condition(kind, status, reason string) map[string]any {
	at := f.clock.Now().UTC().Format(time.RFC3339)
	return map[string]any{"type": kind, "status": status, "reason": reason, "message": "m", "lastTransitionTime": at,
		"lastUpdateTime": at}
}

func deploymentStatus(available string) map[string]any {
	return map[string]any{"observedGeneration": 1, "conditions": []any{
		map[string]any{"type": "Available", "status": available}, map[string]any{"type": "Progressing", "status": "True"},
	}}
}

func nodeStatus(ready string) map[string]any {
	return map[string]any{
		"conditions": []any{map[string]any{"type": "Ready", "status": ready}},
		"nodeInfo":   map[string]any{"kubeletVersion": "v1.36.3"},
	}
}

func managedStatus(healthy string) map[string]any {
	const at = "2026-01-01T00:00:00Z"
	of := func(kind, status, reason string) any {
		return map[string]any{"type": kind, "status": status, "reason": reason, "message": "m", "lastTransitionTime": at,
			"lastUpdateTime": at}
	}
	return map[string]any{"observedGeneration": 1, "conditions": []any{
		of("ResourcesApplied", "True", "Fine"), of("ResourcesHealthy", healthy, "Failing"),
		of("ResourcesProgressing", "False", "Fine"),
	}}
}

func lastOperation(kind, state string, at time.Time) map[string]any {
	return map[string]any{"lastOperation": map[string]any{
		"type": kind, "state": state, "progress": 100, "description": "d", "lastUpdateTime": at.UTC().Format(time.RFC3339),
	}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
