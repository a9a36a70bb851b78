package chaosmesh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/sim/world"
)

// Bounds of what Chaos Mesh is waited for; together they are less than a heal may take.
const (
	createdWithin   = 20 * time.Second
	injectedWithin  = 40 * time.Second
	recoveredWithin = 60 * time.Second
	forcedWithin    = 20 * time.Second
	meshPoll        = 100 * time.Millisecond
)

// forcedFinalizer makes Chaos Mesh release an object although it could not undo what it did.
const forcedFinalizer = "chaos-mesh.chaos-mesh.org/cleanFinalizer"

// applied says how an experiment is left to Chaos Mesh: whom it may harm, and how a probe of ours sees that it does.
type applied struct {
	selectors []v1alpha1.PodSelector // of all pods that it may have to do with
	look      look                   // nil where only the records of Chaos Mesh show its hits
	// network harms no pod in the network of its node.
	network bool
	// lasting harm is over with the heal; other harm is done once.
	lasting bool
}

// experiment is a kind of Chaos Mesh that harms pods.
type experiment interface {
	client.Object
	v1alpha1.StatefulObject
}

// meshed is an experiment that is at work as an object of Chaos Mesh.
type meshed struct {
	*applied
	world   world.World
	cluster string
	client  client.Client
	object  experiment
	before  map[types.NamespacedName]corev1.Pod // as they were
}

// inject creates the object in a cluster that has Chaos Mesh, and waits until both it and our own probe say that the
// harm is done. It has not begun where Chaos Mesh is not installed.
func (a *applied) inject(ctx context.Context, w world.World, cluster string, e Experiment) (begun bool,
	_ world.Injection, _ error) {
	config, err := w.Connect(cluster)
	if err != nil {
		return false, world.Injection{}, fmt.Errorf("connect to cluster %q: %w", cluster, err)
	}
	if has, err := hasDefinition(config, e.kind()); err != nil || !has {
		return false, world.Injection{}, err
	}
	c, err := meshClient(config)
	if err != nil {
		return false, world.Injection{}, err
	}
	if s, is := seriesOf(e.object.DeepCopyObject()); is {
		injection, err := beginSeries(ctx, c, cluster, s)
		return err == nil, injection, err
	}
	m := &meshed{applied: a, world: w, cluster: cluster, client: c, object: e.object.DeepCopyObject().(experiment)}
	if selected, err := m.remember(ctx); err != nil || !selected {
		return !selected && err == nil, nothing(), err
	}
	// The cluster is the remote one already.
	reflect.ValueOf(m.object).Elem().FieldByName("Spec").FieldByName("RemoteCluster").SetString("")
	injection, err := m.begin(ctx)
	return err == nil, injection, err
}

// hasDefinition finds out whether a cluster serves a kind of Chaos Mesh.
func hasDefinition(config *rest.Config, kind string) (bool, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return false, fmt.Errorf("make a client that looks for Chaos Mesh: %w", err)
	}
	served, err := client.ServerResourcesForGroupVersion(v1alpha1.SchemeGroupVersion.String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for Chaos Mesh: %w", err)
	}
	return slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind }), nil
}

func meshClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("learn the kinds of Chaos Mesh: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client for Chaos Mesh: %w", err)
	}
	return c, nil
}

// remember the pods that may be harmed, as they are before, and say whether each selector finds some: without them
// Chaos Mesh would wait for ever. Those in the network of their node are refused for the same reason.
func (m *meshed) remember(ctx context.Context) (selected bool, _ error) {
	m.before = map[types.NamespacedName]corev1.Pod{}
	for _, selector := range m.selectors {
		pods, err := choosable(ctx, m.world, m.cluster, selector)
		if err != nil || len(pods) == 0 {
			return false, err
		}
		for _, pod := range pods {
			if m.network && pod.Spec.HostNetwork {
				return false, fmt.Errorf("select the pods of cluster %q: pod %s/%s is in the network of its node (hostNetwork), "+
					"which Chaos Mesh does not harm: select others",
					m.cluster, pod.Namespace, pod.Name)
			}
			m.before[client.ObjectKeyFromObject(&pod)] = pod
		}
	}
	return true, nil
}

func (m *meshed) begin(ctx context.Context) (world.Injection, error) {
	if err := m.create(ctx); err != nil {
		err = fmt.Errorf("create %s: %w", m, err)
		if apierrors.IsAlreadyExists(err) { // it is somebody else's
			return world.Injection{}, err
		}
		return world.Injection{Heal: m.end, Hits: func() int { return 0 }}, err // it may be there although nobody heard so
	}
	if err := m.awaitInjected(ctx); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), world.HealTimeout)
		defer cancel()
		_ = m.read(ctx) // for what it says last
		err = fmt.Errorf("wait until Chaos Mesh has begun %s: %w; %s", m, err, m.standing())
		return world.Injection{}, errors.Join(err, m.end(ctx))
	}
	if m.look == nil {
		hits := len(m.victims())
		return world.Injection{Heal: m.end, Hits: func() int { return hits }}, nil
	}
	w := m.watch(ctx)
	w.await(ctx)
	heal := func(ctx context.Context) error {
		w.stop()
		if err := m.end(ctx); err != nil || !m.lasting {
			return err
		}
		return m.awaitClean(ctx)
	}
	return world.Injection{Heal: heal, Hits: w.count}, nil
}

// create the object, and wait for the answer even if the run was cancelled: only that shows whether there is one.
func (m *meshed) create(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createdWithin)
	defer cancel()
	return m.client.Create(ctx, m.object)
}

// String names the object for people.
func (m *meshed) String() string {
	return nameOf(m.object, m.cluster)
}

// nameOf an object for people. Its own record of its kind is lost when it is read.
func nameOf(object client.Object, cluster string) string {
	return fmt.Sprintf("the %s %s/%s in cluster %q", reflect.TypeOf(object).Elem().Name(), object.GetNamespace(),
		object.GetName(), cluster)
}

// read the object as it is now.
func (m *meshed) read(ctx context.Context) error {
	return m.client.Get(ctx, client.ObjectKeyFromObject(m.object), m.object)
}

func (m *meshed) records() []*v1alpha1.Record { return m.object.GetStatus().Experiment.Records }

// awaitInjected waits until Chaos Mesh says that it has harmed all; one that is over already, too.
func (m *meshed) awaitInjected(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, meshPoll, injectedWithin, true, func(ctx context.Context) (bool, error) {
		if err := m.read(ctx); err != nil {
			return false, err
		}
		records := m.records()
		return len(records) > 0 && !slices.ContainsFunc(records, func(r *v1alpha1.Record) bool {
			return r.InjectedCount == 0
		}), nil
	})
}

// standing is what Chaos Mesh says about its targets.
func (m *meshed) standing() string {
	var said []string
	for _, r := range m.records() {
		text := fmt.Sprintf("%s is %s", r.Id, r.Phase)
		if n := len(r.Events); n > 0 && r.Events[n-1].Message != "" {
			text += ": " + r.Events[n-1].Message
		}
		said = append(said, text)
	}
	if len(said) == 0 {
		return "it has selected nothing: does its controller manager run?"
	}
	return strings.Join(said, "; ")
}

// end deletes the object, and waits until Chaos Mesh releases it, when it has undone the harm. It never does where a
// victim has been started again in the midst of it: such pods are replaced, and the object is released by force.
func (m *meshed) end(ctx context.Context) error {
	if err := m.client.Delete(ctx, m.object); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", m, err)
	}
	err := m.awaitGone(ctx, recoveredWithin, m.hopeless)
	if !wait.Interrupted(err) && !errors.Is(err, errHopeless) || ctx.Err() != nil {
		return err
	}
	if err := m.replaceUnrecovered(ctx); err != nil {
		return err
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+forcedFinalizer+`":"forced"}}}`))
	if err := m.client.Patch(ctx, m.object, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("force the end of %s: %w", m, err)
	}
	return m.awaitGone(ctx, forcedWithin, never)
}

func never() error { return nil }

// errHopeless says that Chaos Mesh goes on trying what it cannot do.
var errHopeless = errors.New("some of it cannot be undone")

// hopeless after so many attempts.
const attempts = 3

func (m *meshed) hopeless() error {
	for _, r := range m.records() {
		failed := 0
		for _, e := range r.Events {
			if e.Type == v1alpha1.TypeFailed && e.Operation == v1alpha1.Recover {
				failed++
			}
		}
		if r.Phase != v1alpha1.NotInjected && failed >= attempts {
			return errHopeless
		}
	}
	return nil
}

func (m *meshed) awaitGone(ctx context.Context, within time.Duration, hopeless func() error) error {
	err := wait.PollUntilContextTimeout(ctx, meshPoll, within, true, func(ctx context.Context) (bool, error) {
		err := m.read(ctx)
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, cmp.Or(err, hopeless())
	})
	if err != nil {
		return fmt.Errorf("wait until Chaos Mesh has ended %s: %w; %s", m, err, m.standing())
	}
	return nil
}

// replaceUnrecovered deletes the pods that Chaos Mesh could not recover: what their owners make instead is not harmed.
func (m *meshed) replaceUnrecovered(ctx context.Context) error {
	var errs []error
	for _, r := range m.records() {
		if r.Phase == v1alpha1.NotInjected {
			continue
		}
		pod := &corev1.Pod{}
		if err := m.client.Get(ctx, podOfRecord(r), pod); err != nil {
			errs = append(errs, client.IgnoreNotFound(err))
			continue
		}
		if metav1.GetControllerOf(pod) == nil {
			errs = append(errs, fmt.Errorf("replace the pod %s, which %s has not recovered: nobody would make another",
				podOfRecord(r), m))
			continue
		}
		errs = append(errs, client.IgnoreNotFound(m.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})))
	}
	return errors.Join(errs...)
}

// podOfRecord is the pod of a target, which Chaos Mesh names "namespace/pod" or "namespace/pod/container".
func podOfRecord(r *v1alpha1.Record) types.NamespacedName {
	namespace, rest, _ := strings.Cut(r.Id, "/")
	name, _, _ := strings.Cut(rest, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}
