package shoot

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/crds"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/operation"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
)

// patience bounds every wait; the machine may be busy.
const patience = time.Minute

// live is an API server that is garden, seed and shoot at once, with whoever a gardenlet works with: Kubernetes' own
// controllers, an extension, and DNS.
type live struct {
	client.WithWatch
	t        *testing.T
	config   *rest.Config
	decision *ownershiptest.Authority
	full     atomic.Bool // the extension has refused a record
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func startLive(t *testing.T) *live {
	t.Helper()
	l := &live{t: t, decision: &ownershiptest.Authority{},
		config: apiservertest.Start(t, apiservertest.Options{CRDs: crds.All()})}
	var err error
	l.WithWatch, err = client.NewWithWatch(l.config, client.Options{Scheme: testScheme(t)})
	must(t, err)
	for _, name := range []string{"garden", "garden-p", "istio-ingress"} {
		must(t, l.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	for _, name := range []string{"control-plane-kubeconfig-garden", "control-plane-kubeconfig-cloud"} {
		must(t, l.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: name},
			StringData: map[string]string{"kubeconfig": `{"apiVersion": "v1", "kind": "Config"}`}}))
	}
	must(t, l.Create(t.Context(), &gardencorev1beta1.CloudProfile{ObjectMeta: metav1.ObjectMeta{Name: "profile"},
		Spec: gardencorev1beta1.CloudProfileSpec{
			Type: "transplant", Kubernetes: gardencorev1beta1.KubernetesSettings{Versions: []gardencorev1beta1.ExpirableVersion{
				{Version: "1.36.3"}}},
			MachineImages: []gardencorev1beta1.MachineImage{}, MachineTypes: []gardencorev1beta1.MachineType{},
			Regions: []gardencorev1beta1.Region{{Name: "here"}},
		}}))
	must(t, l.Create(t.Context(), &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec: gardencorev1beta1.SeedSpec{
			Provider: gardencorev1beta1.SeedProvider{Type: "transplant", Region: "here"},
			Networks: gardencorev1beta1.SeedNetworks{Pods: "10.1.0.0/16", Services: "10.2.0.0/16"},
			DNS: gardencorev1beta1.SeedDNS{Defaults: []gardencorev1beta1.SeedDNSProviderConfig{{Type: "transplant",
				Domain: "clusters.test"}}},
		}}))
	gateway := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "istio-ingress", Name: "istio-ingressgateway"}}
	gateway.Spec.Type, gateway.Spec.Ports = corev1.ServiceTypeLoadBalancer, []corev1.ServicePort{{Port: 9443}}
	must(t, l.Create(t.Context(), gateway))
	must(t, l.Status().Patch(t.Context(), gateway,
		client.RawPatch(types.MergePatchType, []byte(`{"status":{"loadBalancer":{"ingress":[{"ip":"127.1.2.3"}]}}}`))))
	l.play()
	return l
}

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, gardencorev1beta1.AddToScheme, extensionsv1alpha1.AddToScheme,
		machinev1alpha1.AddToScheme,
		resourcesv1alpha1.AddToScheme, transplantv1alpha1.AddToScheme,
	} {
		must(t, add(scheme))
	}
	return scheme
}

// hasty is a clock by which an error with codes has stayed for long as soon as it is seen
// (docs/specification/extensions.md#spec-3-5), until one was reported.
type hasty struct {
	clock.Clock
	reported *atomic.Bool
}

func (h hasty) Since(t time.Time) time.Duration {
	if h.reported.Load() {
		return h.Clock.Since(t)
	}
	return h.Clock.Since(t.Add(-time.Minute))
}

// For implements scope.ShootClients: the shoot's API server is this one, whatever its name.
func (l *live) For(string, []byte, string) (client.Client, error) { return l, nil }

// Claim and Decision implement scope.Authorities.
func (l *live) Claim(namespace, lease string) ownership.Authority {
	return &ownership.LeaseAuthority{Leases: kubernetes.NewForConfigOrDie(l.config).CoordinationV1().Leases(namespace),
		Name: lease}
}

func (l *live) Decision(string) ownership.Authority { return l.decision }

// noFinals are buckets in which no epoch has ended.
type noFinals struct{ scope.Buckets }

func (noFinals) HasFinalSnapshot(context.Context, string, string, int64) (bool, error) {
	return false, nil
}

// inGarden writes events beside the shoot.
type inGarden struct {
	events.EventRecorder
	warned *atomic.Bool
}

func (e inGarden) Event(shoot *gardencorev1beta1.Shoot, eventType, reason, message string) {
	if eventType == corev1.EventTypeWarning {
		e.warned.Store(true)
	}
	e.Eventf(shoot, nil, eventType, reason, reason, "%s", message[:min(len(message), 1000)])
}

// gardenlet runs the controller until the test ends.
func (l *live) gardenlet() {
	l.t.Helper()
	boottime, err := ownership.NewBootClock()
	must(l.t, err)
	mgr, err := manager.New(l.config, manager.Options{
		Scheme: testScheme(l.t), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: crconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	must(l.t, err)
	reported := &atomic.Bool{}
	reconciler := &operation.Reconciler{
		Factory: &controlplane.Factory{
			Settings: scope.Settings{
				SeedName: "a", InternalDomain: "shoots.test", Image: "own", KubernetesImage: "kubernetes",
				OwnerCheckInterval: time.Second, OwnerCheckTimeout: 5 * time.Second,
				DeltaInterval: time.Second, FullSnapshotInterval: time.Hour, DNSTTL: 5 * time.Second,
				WaitInterval:     50 * time.Millisecond,
				GatewayNamespace: "istio-ingress", GatewayService: "istio-ingressgateway", GatewayPort: 9443,
			},
			Clock: hasty{clock.RealClock{}, reported}, Boottime: boottime, Garden: l, Seed: l,
			Bell: &scope.Bell{}, Shoots: l, Owners: l, Bucket: noFinals{},
			States: &shootstate.Store{Garden: l, Clock: clock.RealClock{}}, Version: "v1",
		},
		Runner: &run.Runner{
			Version: "v1", Events: inGarden{mgr.GetEventRecorder("gardenlet"), reported},
			Periods: run.Periods{Retry: time.Hour, Progress: time.Millisecond},
		},
		Flows: staying(),
	}
	must(l.t, reconciler.AddToManager(mgr, "shoot", 2))
	l.beside(func(ctx context.Context) {
		if err := mgr.Start(ctx); err != nil {
			l.t.Errorf("the manager ended with %v", err)
		}
	})
}

// beside runs something until the test ends.
func (l *live) beside(run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	l.t.Cleanup(func() { cancel(); <-ended })
}

// watch takes down every version of the shoot; what it returns waits for the last, and returns all.
func (l *live) watch() func() []*unstructured.Unstructured {
	l.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind("ShootList"))
	stream, err := l.Watch(l.t.Context(), list, client.InNamespace("garden-p"))
	must(l.t, err)
	l.t.Cleanup(stream.Stop)
	return func() (seen []*unstructured.Unstructured) {
		for {
			select {
			case event := <-stream.ResultChan():
				object, is := event.Object.(*unstructured.Unstructured)
				if !is {
					l.t.Fatalf("the watch has ended with %v", event)
				}
				seen = append(seen, object)
				if event.Type == "DELETED" {
					return seen
				}
			case <-time.After(patience):
				l.t.Fatal("the watch does not see the end of the shoot")
			}
		}
	}
}

func (l *live) shoot(t *testing.T) *gardencorev1beta1.Shoot {
	t.Helper()
	shoot := &gardencorev1beta1.Shoot{}
	must(t, l.Get(t.Context(), client.ObjectKey{Namespace: "garden-p", Name: "alpha"}, shoot))
	return shoot
}

func (l *live) patch(t *testing.T, content string) error {
	t.Helper()
	return l.Patch(t.Context(), l.shoot(t), client.RawPatch(types.MergePatchType, []byte(content)))
}

// until waits for a last operation.
func (l *live) until(t *testing.T, kind gardencorev1beta1.LastOperationType,
	state gardencorev1beta1.LastOperationState) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true,
		func(context.Context) (bool, error) {
			last := l.shoot(t).Status.LastOperation
			return last != nil && last.Type == kind && last.State == state, nil
		})
	if err != nil {
		status := l.shoot(t).Status
		t.Fatalf("wait for %s %s: %v; last operation %+v, errors %+v", kind, state, err, status.LastOperation,
			status.LastErrors)
	}
}

// play does what others do on a seed, until the test ends.
func (l *live) play() {
	l.beside(func(ctx context.Context) {
		for ctx.Err() == nil {
			for _, one := range []func(context.Context) error{l.workloads, l.namespaces, l.extensions, l.backups} {
				if err := one(ctx); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
					l.t.Error(err)
					return
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
}

// workloads run, all of them; those that are deleted have no pods to wait for.
func (l *live) workloads(ctx context.Context) error {
	sets, deployments := &appsv1.StatefulSetList{}, &appsv1.DeploymentList{}
	for _, list := range []client.ObjectList{sets, deployments} {
		if err := l.List(ctx, list, client.InNamespace(technicalID)); err != nil {
			return err
		}
	}
	run := func(object client.Object, replicas int32, observed int64, more string) error {
		if object.GetDeletionTimestamp() != nil {
			return l.removeFinalizers(ctx, object)
		}
		if observed == object.GetGeneration() {
			return nil
		}
		status := fmt.Sprintf(
			`{"status":{"observedGeneration":%d,"replicas":%[2]d,"readyReplicas":%[2]d,"updatedReplicas":%[2]d,`+
				`"availableReplicas":%[2]d%s}}`, object.GetGeneration(), replicas, more)
		return l.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(status)))
	}
	for i := range sets.Items {
		if err := run(&sets.Items[i], *sets.Items[i].Spec.Replicas, sets.Items[i].Status.ObservedGeneration, ""); err != nil {
			return err
		}
	}
	for i := range deployments.Items {
		if err := run(&deployments.Items[i], *deployments.Items[i].Spec.Replicas,
			deployments.Items[i].Status.ObservedGeneration, ""); err != nil {
			return err
		}
	}
	return nil
}

func (l *live) removeFinalizers(ctx context.Context, object client.Object) error {
	return client.IgnoreNotFound(l.Patch(ctx, object,
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
}

// namespaces that are deleted go, whatever is left in them.
func (l *live) namespaces(ctx context.Context) error {
	namespace := &corev1.Namespace{}
	if err := l.Get(ctx, client.ObjectKey{Name: technicalID}, namespace); err != nil ||
		namespace.DeletionTimestamp == nil {
		return err
	}
	namespace.Spec.Finalizers = nil
	return l.SubResource("finalize").Update(ctx, namespace)
}

// extensions does what it is asked, but for the first record, which it refuses once.
func (l *live) extensions(ctx context.Context) error {
	var all []extensionsv1alpha1.Object
	records, extensions := &extensionsv1alpha1.DNSRecordList{}, &extensionsv1alpha1.ExtensionList{}
	for _, list := range []client.ObjectList{records, extensions} {
		if err := l.List(ctx, list, client.InNamespace(technicalID)); err != nil {
			return err
		}
	}
	all = append(records.Objects(), extensions.Objects()...)
	for _, o := range all {
		object := o.(client.Object)
		if object.GetDeletionTimestamp() != nil {
			if err := l.removeFinalizers(ctx, object); err != nil {
				return err
			}
			continue
		}
		if object.GetAnnotations()["gardener.cloud/operation"] == "" {
			continue
		}
		lastError := "null"
		if _, record := o.(*extensionsv1alpha1.DNSRecord); record && l.full.CompareAndSwap(false, true) {
			lastError = `{"description":"the zone is full","codes":["ERR_INFRA_RESOURCES_DEPLETED"]}`
		}
		if err := l.answer(ctx, object,
			`{"metadata":{"annotations":{"gardener.cloud/operation":null},"finalizers":["test.dev/extension"]}}`,
			lastError); err != nil {
			return err
		}
	}
	return nil
}

// backups are there at once.
func (l *live) backups(ctx context.Context) error {
	entries := &gardencorev1beta1.BackupEntryList{}
	if err := l.List(ctx, entries); err != nil {
		return err
	}
	for i := range entries.Items {
		if entry := &entries.Items[i]; entry.Status.ObservedGeneration != entry.Generation {
			if err := l.answer(ctx, entry, `{}`, "null"); err != nil {
				return err
			}
		}
	}
	return nil
}

// answer takes a request up and says what came of it.
func (l *live) answer(ctx context.Context, object client.Object, patch, lastError string) error {
	if err := l.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return err
	}
	status := fmt.Sprintf(
		`{"status":{"observedGeneration":%d,"lastError":%s,"lastOperation":{"type":"Reconcile","state":"Succeeded",`+
			`"progress":100,"description":"","lastUpdateTime":%q}}}`,
		object.GetGeneration(), lastError, time.Now().UTC().Format(time.RFC3339))
	return l.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(status)))
}
