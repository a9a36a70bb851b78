package chaosmesh_test

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/clusters/integrationtest"
	"github.com/transplant-sim/transplant/sim/fault/chaosmesh"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// definitions of Chaos Mesh, made of its Go types: its module has none.
func definitions(t *testing.T, plurals ...string) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	integrationtest.Mark(t, "makes definitions for a real API server")
	folder := t.TempDir()
	generate := exec.CommandContext(t.Context(), "go", "tool", "controller-gen", "crd",
		"paths=github.com/chaos-mesh/chaos-mesh/api/v1alpha1", "output:crd:dir="+folder)
	if output, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	var found []*apiextensionsv1.CustomResourceDefinition
	for _, plural := range plurals {
		content, err := os.ReadFile(filepath.Join(folder, "chaos-mesh.org_"+plural+".yaml"))
		must(t, err)
		definition := &apiextensionsv1.CustomResourceDefinition{}
		must(t, yaml.Unmarshal(content, definition))
		found = append(found, definition)
	}
	return found
}

// meshWorld is a world of one cluster with the definitions of Chaos Mesh, and somebody who plays its part, in the way
// of its controllers: finalizer, records, and what it does to pods.
type meshWorld struct {
	*worldtest.World
	config *rest.Config
	client crclient.Client

	mutex sync.Mutex
	cut   map[types.UID]bool // pods that nobody answers
	slow  map[types.UID]time.Duration
}

func (w *meshWorld) Connect(string) (*rest.Config, error) { return w.config, nil }

func (w *meshWorld) DialFromPod(_ context.Context, _ string, pod types.UID, address string) (time.Duration, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.cut[pod] {
		return 0, world.ErrNoAnswer
	}
	return cmp.Or(w.slow[pod], time.Millisecond), nil
}

const meshFinalizer = "chaos-mesh/records"

// play Chaos Mesh in one namespace, until the test ends.
func (w *meshWorld) play(t *testing.T, namespace string, p part) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		_ = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			pods, networks, busy := &v1alpha1.PodChaosList{}, &v1alpha1.NetworkChaosList{}, &v1alpha1.StressChaosList{}
			for _, list := range []crclient.ObjectList{pods, networks, busy} {
				if err := w.client.List(ctx, list, crclient.InNamespace(namespace)); err != nil {
					return false, nil // the test is ending
				}
			}
			for i := range pods.Items {
				w.reconcile(ctx, t, p, &pods.Items[i], pods.Items[i].Spec.Selector)
			}
			for i := range networks.Items {
				w.reconcile(ctx, t, p, &networks.Items[i], networks.Items[i].Spec.Selector)
			}
			for i := range busy.Items {
				if remote := busy.Items[i].Spec.RemoteCluster; remote != "" {
					t.Errorf("the object is to be carried out in cluster %q, where it is already", remote)
				}
				w.reconcile(ctx, t, p, &busy.Items[i], busy.Items[i].Spec.Selector)
			}
			return false, nil
		})
	}()
}

// part is what this Chaos Mesh does, and what it cannot.
type part struct {
	harm         func(context.Context, *corev1.Pod) error
	undo         func(context.Context, *corev1.Pod) error
	cannotUndo   string
	cannotInject string
}

type experiment interface {
	crclient.Object
	v1alpha1.StatefulObject
}

func (w *meshWorld) reconcile(ctx context.Context, t *testing.T, p part, object experiment,
	s v1alpha1.PodSelectorSpec) {
	status := &object.GetStatus().Experiment
	deleted := object.GetDeletionTimestamp() != nil
	switch {
	case deleted && (len(status.Records) == 0 ||
		object.GetAnnotations()["chaos-mesh.chaos-mesh.org/cleanFinalizer"] == "forced"):
		object.SetFinalizers(nil)
	case deleted:
		w.recover(ctx, p, object)
	case len(status.Records) > 0 && p.cannotInject == "":
		return
	default:
		controllerutil.AddFinalizer(object, meshFinalizer)
		pods := &corev1.PodList{}
		if err := w.client.List(ctx, pods, crclient.InNamespace(s.Namespaces[0]),
			crclient.MatchingLabels(s.LabelSelectors)); err != nil {
			return
		}
		status.Records = nil
		for i := range pods.Items {
			status.Records = append(status.Records, w.injectInto(ctx, t, p, &pods.Items[i]))
		}
	}
	if err := w.client.Update(ctx, object); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) &&
		ctx.Err() == nil {
		t.Errorf("update %s: %v", object.GetName(), err)
	}
}

func (w *meshWorld) injectInto(ctx context.Context, t *testing.T, p part, pod *corev1.Pod) *v1alpha1.Record {
	record := &v1alpha1.Record{Id: pod.Namespace + "/" + pod.Name, SelectorKey: ".", Phase: v1alpha1.Injected,
		InjectedCount: 1}
	if p.cannotInject != "" {
		record.Phase, record.InjectedCount = v1alpha1.NotInjected, 0
		record.Events = append(record.Events, *v1alpha1.NewRecordEvent(v1alpha1.TypeFailed, v1alpha1.Apply, p.cannotInject,
			metav1.Now()))
		return record
	}
	if p.harm != nil {
		if err := p.harm(ctx, pod); err != nil && ctx.Err() == nil {
			t.Errorf("harm the pod %s: %v", pod.Name, err)
		}
	}
	return record
}

func (w *meshWorld) recover(ctx context.Context, p part, object experiment) {
	left := false
	for _, r := range object.GetStatus().Experiment.Records {
		namespace, name, _ := strings.Cut(r.Id, "/")
		if p.cannotUndo != "" {
			r.Events = append(r.Events, *v1alpha1.NewRecordEvent(v1alpha1.TypeFailed, v1alpha1.Recover, p.cannotUndo,
				metav1.Now()))
			left = true
			continue
		}
		pod := &corev1.Pod{}
		if err := w.client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, pod); err == nil &&
			p.undo != nil {
			_ = p.undo(ctx, pod)
		}
		r.Phase = v1alpha1.NotInjected
	}
	if !left {
		object.SetFinalizers(nil)
	}
}

// stand makes a namespace with two gardenlets, which a ReplicaSet would make anew, as a kubelet would report them.
func (w *meshWorld) stand(t *testing.T, namespace string, hostNetwork bool) {
	t.Helper()
	must(t, w.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	for _, name := range []string{"g-1", "g-2"} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "gardenlet"},
				OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "g", UID: "1", Controller: ptr.To(true)},
				}},
			Spec: corev1.PodSpec{HostNetwork: hostNetwork, Containers: []corev1.Container{{Name: "gardenlet", Image: "own"}}},
		}
		must(t, w.client.Create(t.Context(), pod))
		pod.Status = corev1.PodStatus{
			Phase: corev1.PodRunning, HostIP: "192.0.2.1", HostIPs: []corev1.HostIP{{IP: "192.0.2.1"}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "gardenlet", Image: "own", ImageID: "own",
				ContainerID: "containerd://1"}},
		}
		must(t, w.client.Status().Update(t.Context(), pod))
	}
}

func (w *meshWorld) kill(ctx context.Context, pod *corev1.Pod) error {
	return w.client.Delete(ctx, pod, crclient.GracePeriodSeconds(0))
}

// report changes what the kubelet says about a container.
func (w *meshWorld) report(change func(*corev1.ContainerStatus)) func(context.Context, *corev1.Pod) error {
	return func(ctx context.Context, pod *corev1.Pod) error {
		change(&pod.Status.ContainerStatuses[0])
		return w.client.Status().Update(ctx, pod)
	}
}

func (w *meshWorld) network(change func(types.UID)) func(context.Context, *corev1.Pod) error {
	return func(_ context.Context, pod *corev1.Pod) error {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		change(pod.UID)
		return nil
	}
}

// Where the definitions of Chaos Mesh are installed its objects are applied, seen by our own probe, and ended.
func TestChaosMesh(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	must(t, clientgoscheme.AddToScheme(scheme))
	must(t, v1alpha1.AddToScheme(scheme))
	config := apiservertest.Start(t, apiservertest.Options{
		CRDs:  definitions(t, "podchaos", "networkchaos", "stresschaos", "schedules", "workflows", "workflownodes"),
		Flags: []string{"--disable-admission-plugins=ServiceAccount"},
	})
	client, err := crclient.New(config, crclient.Options{Scheme: scheme})
	must(t, err)
	w := &meshWorld{World: worldtest.New(t, "a"), config: config, client: client, cut: map[types.UID]bool{},
		slow: map[types.UID]time.Duration{}}
	otherwise := func(image, id string) func(*corev1.ContainerStatus) {
		return func(s *corev1.ContainerStatus) { s.Image, s.ContainerID = image, id }
	}
	cut := w.network(func(pod types.UID) { w.cut[pod] = true })
	mend := w.network(func(pod types.UID) { delete(w.cut, pod); delete(w.slow, pod) })
	for name, c := range map[string]struct {
		kind, spec string
		part       part
		hits       int
	}{
		"pod-kill": {"PodChaos", "action: pod-kill", part{harm: w.kill}, 2},
		"container-kill": {"PodChaos", "action: container-kill, containerNames: [gardenlet]",
			part{harm: w.report(otherwise("own", "containerd://2"))}, 2},
		"pod-failure": {"PodChaos", "action: pod-failure", part{harm: w.report(otherwise("pause", "containerd://2")),
			undo: w.report(otherwise("own", "containerd://3"))}, 2},
		"partition": {"NetworkChaos", "action: partition", part{harm: cut, undo: mend}, 2},
		// No probe sees these: the records count.
		"stress": {"StressChaos", "stressors: {cpu: {workers: 1}}, remoteCluster: a", part{}, 2},
		"device": {"NetworkChaos", "action: bandwidth, bandwidth: {rate: 1mbps, limit: 1, buffer: 1}, device: eth1", part{},
			2},
		"loss": {"NetworkChaos", "action: loss, loss: {loss: '50'}", part{harm: w.network(func(pod types.UID) {
			w.slow[pod] = time.Second
		}), undo: mend}, 2},
		"delay": {"NetworkChaos", "action: delay, delay: {latency: 90ms}", part{harm: w.network(func(pod types.UID) {
			w.slow[pod] = 90 * time.Millisecond
		}), undo: mend}, 2},
		// Whatever it says, it hits nothing.
		"lie": {"NetworkChaos", "action: partition", part{}, 0},
		// A victim that was started again cannot be recovered: it is replaced.
		"cannot-undo": {"NetworkChaos", "action: partition", part{harm: cut, cannotUndo: "container not found"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.stand(t, name, false)
			w.play(t, name, c.part)
			f := meshed(t, name, c.kind, c.spec)
			injection, err := f.Inject(t.Context(), w, "a")
			must(t, err)
			if left := w.experiments(t, name); left != 1 {
				t.Errorf("there are %d objects of Chaos Mesh", left)
			}
			if injection.Hits() != c.hits {
				t.Errorf("it hit %d pods, want %d", injection.Hits(), c.hits)
			}
			must(t, injection.Heal(t.Context()))
			if left := w.experiments(t, name); left != 0 {
				t.Errorf("%d objects of Chaos Mesh are left", left)
			}
			left := &corev1.PodList{}
			must(t, client.List(t.Context(), left, crclient.InNamespace(name)))
			for _, pod := range left.Items {
				if c.part.cannotUndo != "" && pod.DeletionTimestamp == nil {
					t.Errorf("the pod %s, which nobody recovers, is not replaced", pod.Name)
				}
			}
		})
	}
	t.Run("nobody-selected", func(t *testing.T) {
		t.Parallel()
		must(t, client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "empty"}}))
		injection, err := meshed(t, "empty", "StressChaos", "stressors: {cpu: {workers: 1}}").Inject(t.Context(), w, "a")
		must(t, err)
		if left := w.experiments(t, "empty"); left != 0 || injection.Hits() != 0 {
			t.Errorf("%d objects of Chaos Mesh, %d hits", left, injection.Hits())
		}
		must(t, injection.Heal(t.Context()))
	})
	t.Run("series", func(t *testing.T) { testSeries(t, w) })
	t.Run("refused", func(t *testing.T) { testMeshRefusals(t, w) })
}

// A Schedule hits what its experiments hit. They end with it, also those that it begins at the last moment.
func testSeries(t *testing.T, w *meshWorld) {
	const namespace = "series"
	t.Parallel()
	w.stand(t, namespace, false)
	w.play(t, namespace, part{})
	content, err := yaml.YAMLToJSON([]byte("apiVersion: chaos-mesh.org/v1alpha1\nkind: Schedule\n" +
		"metadata: {name: x, namespace: " + namespace + "}\n" +
		"spec: {schedule: '@every 5s', type: StressChaos, stressChaos: {mode: all, stressors: {cpu: {workers: 1}}, " +
		"selector: {namespaces: [" + namespace + "], labelSelectors: {app: gardenlet}}}}\n"))
	must(t, err)
	var e chaosmesh.Experiment
	must(t, e.UnmarshalJSON(content))
	injection, err := e.Inject(t.Context(), w, "a")
	must(t, err)
	begin := func(name string) error {
		busy := &v1alpha1.StressChaos{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			Labels: map[string]string{"managed-by": "x"}}}
		busy.Spec.Selector.Namespaces, busy.Spec.Selector.LabelSelectors = []string{namespace},
			map[string]string{"app": "gardenlet"}
		busy.Spec.Mode, busy.Spec.Stressors = v1alpha1.AllMode, &v1alpha1.Stressors{CPUStressor: &v1alpha1.CPUStressor{
			Stressor: v1alpha1.Stressor{Workers: 1}}}
		return w.client.Create(t.Context(), busy)
	}
	must(t, begin("first"))
	must(t, begin("second"))
	must(t, wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return injection.Hits() == 4, nil }))
	schedule := types.NamespacedName{Namespace: namespace, Name: "x"}
	last := make(chan error)
	go func() {
		last <- wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true,
			func(ctx context.Context) (bool, error) {
				gone := apierrors.IsNotFound(w.client.Get(ctx, schedule, &v1alpha1.Schedule{}))
				if !gone {
					return false, nil
				}
				return true, begin("last")
			})
	}()
	must(t, injection.Heal(t.Context()))
	must(t, <-last)
	if left := w.experiments(t, namespace); left != 0 {
		t.Errorf("%d objects of Chaos Mesh are left", left)
	}
}

// What cannot begin says why, and leaves nothing.
func testMeshRefusals(t *testing.T, w *meshWorld) {
	for name, c := range map[string]struct {
		hostNetwork bool
		part        *part
		want        string
	}{
		"host-network": {true, &part{},
			"pod host-network/g-1 is in the network of its node (hostNetwork), which Chaos Mesh does not harm"},
		"fails":  {false, &part{cannotInject: "no daemon"}, "fails/g-1 is Not Injected: no daemon"},
		"nobody": {false, nil, "it has selected nothing: does its controller manager run?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.stand(t, name, c.hostNetwork)
			if c.part != nil {
				w.play(t, name, *c.part)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { // nobody waits longer than until there is something to report
				_ = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
					object := &v1alpha1.NetworkChaos{}
					err := w.client.Get(ctx, types.NamespacedName{Namespace: name, Name: "x"}, object)
					return err == nil && (c.part == nil || len(object.Status.Experiment.Records) > 0), nil
				})
				cancel()
			}()
			if _, err := meshed(t, name, "NetworkChaos", "action: partition").Inject(ctx, w, "a"); err == nil ||
				!strings.Contains(err.Error(), c.want) ||
				!c.hostNetwork && !strings.Contains(err.Error(), "the NetworkChaos "+name+"/x in cluster") {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if left := w.experiments(t, name); left != 0 {
				t.Errorf("%d objects of Chaos Mesh are left", left)
			}
		})
	}
}

// meshed is an experiment on the gardenlets of a namespace.
func meshed(t *testing.T, namespace, kind, spec string) chaosmesh.Experiment {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte("apiVersion: chaos-mesh.org/v1alpha1\nkind: " + kind +
		"\nmetadata: {name: x, namespace: " + namespace + "}\n" +
		"spec: {selector: {namespaces: [" + namespace + "], labelSelectors: {app: gardenlet}}, mode: all, " + spec + "}\n"))
	must(t, err)
	var e chaosmesh.Experiment
	must(t, e.UnmarshalJSON(content))
	return e
}

func (w *meshWorld) experiments(t *testing.T, namespace string) int {
	t.Helper()
	pods, networks, busy := &v1alpha1.PodChaosList{}, &v1alpha1.NetworkChaosList{}, &v1alpha1.StressChaosList{}
	must(t, w.client.List(t.Context(), busy, crclient.InNamespace(namespace)))
	must(t, w.client.List(t.Context(), pods, crclient.InNamespace(namespace)))
	must(t, w.client.List(t.Context(), networks, crclient.InNamespace(namespace)))
	return len(pods.Items) + len(networks.Items) + len(busy.Items)
}
