package leftovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// ended is what happens on the seed in a removal, in order: "patch Infrastructure", "delete Infrastructure
// [finalizers]".
type ended struct {
	scheme *runtime.Scheme
	mu     sync.Mutex
	what   []string
}

func (e *ended) note(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.what) == 0 || e.what[len(e.what)-1] != text {
		e.what = append(e.what, text)
	}
}

func (e *ended) index(text string) int { return slices.Index(e.what, text) }

// watching notes deletions, with the finalizers that the object still has, and lets pods end with their workloads.
func watching(e *ended, inTheWay func(client.Object)) interceptor.Funcs {
	return interceptor.Funcs{
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, o client.Object,
			options ...client.DeleteAllOfOption) error {
			if err := c.DeleteAllOf(ctx, o, options...); err != nil {
				return err
			}
			e.note("delete all " + e.kind(o))
			if _, is := o.(*appsv1.StatefulSet); is {
				return c.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace("shoot--p--alpha"))
			}
			return nil
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			now := o.DeepCopyObject().(client.Object)
			finalized := c.Get(ctx, client.ObjectKeyFromObject(o), now) == nil && len(now.GetFinalizers()) > 0
			err := c.Delete(ctx, o, options...)
			switch {
			case err == nil && finalized:
				e.note("delete for real " + e.kind(o))
			case err == nil:
				e.note("delete " + e.kind(o))
			}
			return err
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
			options ...client.PatchOption) error {
			err := c.Patch(ctx, o, patch, options...)
			if o.GetAnnotations()[constants.GardenerOperation] != "" {
				e.note("ask " + e.kind(o))
			}
			if inTheWay != nil {
				inTheWay(o)
			}
			return err
		},
	}
}

func (e *ended) kind(o client.Object) string {
	gvk, _, err := e.scheme.ObjectKinds(o)
	if err != nil {
		return err.Error()
	}
	return gvk[0].Kind
}

// A seed that returns stops whoever acts first, touches nothing that its objects stand for, and loses the namespace
// last.
func TestRemoveLeftovers(t *testing.T) {
	t.Parallel()
	e := &ended{scheme: controlplanetest.FullScheme(t)}
	onA, _ := controlplanetest.OnSeedA(t, "Reconcile", nil, interceptor.Funcs{})
	o := New(onA)
	seed := fake.NewClientBuilder().WithScheme(e.scheme).WithObjects(controlPlaneOf("shoot--p--alpha")...).WithObjects(
		controlPlaneOf("shoot--p--beta")...).Build()
	again := true
	o.Seed = interceptor.NewClient(seed, watching(e, func(object client.Object) {
		// An extension that has just begun to work on its object sets its finalizer again.
		if infrastructure, is := object.(*extensionsv1alpha1.Infrastructure); is && again {
			again = false
			before := infrastructure.DeepCopy()
			now := infrastructure.DeepCopy()
			now.Finalizers = []string{"extensions.gardener.cloud/transplant"}
			if err := seed.Patch(context.Background(), now, client.MergeFrom(before)); err != nil {
				t.Error(err)
			}
		}
	}))
	further := func(context.Context) error {
		pods := &corev1.PodList{}
		if err := o.Seed.List(t.Context(), pods, client.InNamespace("shoot--p--alpha")); err != nil || len(pods.Items) > 0 {
			t.Errorf("what is to be done when nobody acts any more is done while %d pods run: %v", len(pods.Items), err)
		}
		e.note("further")
		return nil
	}
	if err := o.Remove(t.Context(), further); err != nil {
		t.Fatal(err)
	}
	if again {
		t.Fatal("nobody got in the way: the test is void")
	}
	for i, text := range e.what {
		if strings.HasPrefix(text, "delete for real") || strings.HasPrefix(text, "ask") {
			t.Errorf("%q is asked for, which reaches outside the seed; before: %v", text, e.what[:i])
		}
	}
	order := []string{"delete all Deployment", "delete all StatefulSet", "delete Machine", "delete Infrastructure",
		"delete ManagedResource", "further", "delete BackupEntry", "delete Namespace", "delete Cluster"}
	for i := 1; i < len(order); i++ {
		if e.index(order[i-1]) < 0 || e.index(order[i]) < e.index(order[i-1]) {
			t.Errorf("%q does not come after %q: %v", order[i], order[i-1], e.what)
		}
	}
	if diff := cmp.Diff([]string{"shoot--p--beta"}, holders(t, seed)); diff != "" {
		t.Errorf("who still has something here (-want +got):\n%s", diff)
	}
	// The owner of nothing takes its right off the namespace first: without etcd it is what extensions go by.
	beta := &corev1.Namespace{}
	if err := seed.Get(t.Context(), client.ObjectKey{Name: "shoot--p--beta"}, beta); err != nil ||
		beta.Annotations[constants.OwnershipEpoch] != "7" {
		t.Errorf("the neighbour's epoch is %q, %v", beta.Annotations[constants.OwnershipEpoch], err)
	}
}

// An API server without its etcd would use up all of its grace; nobody else is cut short.
func TestAnAPIServerWhoseTimeIsOverEndsSoon(t *testing.T) {
	t.Parallel()
	onA, _ := controlplanetest.OnSeedA(t, "Reconcile", nil, interceptor.Funcs{})
	o := New(onA)
	ending := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "shoot--p--alpha", UID: types.UID(name), Labels: map[string]string{constants.LabelRole: name},
			DeletionTimestamp: ptr.To(metav1.Now()), DeletionGracePeriodSeconds: ptr.To[int64](5),
			Finalizers: []string{"a/kubelet"},
		}}
	}
	seed := fake.NewClientBuilder().WithScheme(controlplanetest.FullScheme(t)).WithObjects(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}}, ending(workload.KubeAPIServer),
		ending(workload.Etcd)).Build()
	ends := func(name string) {
		pod := ending(name)
		if err := seed.Patch(t.Context(), pod,
			client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
			t.Error(err)
		}
	}
	var hurried []string
	o.Seed = interceptor.NewClient(seed,
		interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, object client.Object,
			options ...client.DeleteOption) error {
			if _, pod := object.(*corev1.Pod); !pod {
				return c.Delete(ctx, object, options...)
			}
			asked := (&client.DeleteOptions{}).ApplyOptions(options)
			hurried = append(hurried, fmt.Sprintf("%s within %d s", object.GetName(), ptr.Deref(asked.GracePeriodSeconds, -1)))
			ends(object.GetName())
			ends(workload.Etcd) // by itself
			return nil
		}})
	if err := o.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"kube-apiserver within 1 s"}, hurried); diff != "" {
		t.Errorf("pods that were hurried (-want +got):\n%s", diff)
	}
}

// What a list has shown is patched and deleted, without a request more for each object.
func TestRemove_ObjectsThatWereListed_AreNotReadOneByOne(t *testing.T) {
	t.Parallel()
	onA, _ := controlplanetest.OnSeedA(t, "Reconcile", nil, interceptor.Funcs{})
	o := New(onA)
	seed := fake.NewClientBuilder().WithScheme(controlplanetest.FullScheme(t)).
		WithObjects(controlPlaneOf("shoot--p--alpha")...).Build()
	read := map[string]int{}
	o.Seed = interceptor.NewClient(seed, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			options ...client.GetOption) error {
			read[fmt.Sprintf("%T", object)]++
			return c.Get(ctx, key, object, options...)
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, object client.Object,
			options ...client.DeleteAllOfOption) error {
			return errors.Join(c.DeleteAllOf(ctx, object, options...),
				c.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace("shoot--p--alpha")))
		},
	})
	if err := o.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, object := range []client.Object{&extensionsv1alpha1.Infrastructure{}, &extensionsv1alpha1.Worker{},
		&extensionsv1alpha1.DNSRecord{}, &extensionsv1alpha1.BackupEntry{}, &resourcesv1alpha1.ManagedResource{}} {
		if kind := fmt.Sprintf("%T", object); read[kind] != 0 {
			t.Errorf("%s: %d reads, want none", kind, read[kind])
		}
	}
}

// A list is long ago when its last object has its turn. What others have written since is read and released in the same
// look, and nobody else's finalizer goes unseen.
func TestRemove_ListedObjectWasWrittenSince_IsReadAgainAtOnce(t *testing.T) {
	t.Parallel()
	onA, _ := controlplanetest.OnSeedA(t, "Reconcile", nil, interceptor.Funcs{})
	o := New(onA)
	o.WaitInterval = time.Hour // no second look comes in time
	seed := fake.NewClientBuilder().WithScheme(controlplanetest.FullScheme(t)).
		WithObjects(controlPlaneOf("shoot--p--alpha")...).Build()
	written := false
	o.Seed = interceptor.NewClient(seed, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch,
			options ...client.PatchOption) error {
			if infrastructure, is := object.(*extensionsv1alpha1.Infrastructure); is && !written {
				written = true
				other := infrastructure.DeepCopy()
				if err := c.Get(ctx, client.ObjectKeyFromObject(other), other); err != nil {
					t.Error(err)
				}
				other.Labels = map[string]string{"somebody": "else"}
				if err := c.Update(ctx, other); err != nil {
					t.Error(err)
				}
			}
			return c.Patch(ctx, object, patch, options...)
		},
	})
	if err := o.deleteExtensions(t.Context()); err != nil || !written {
		t.Fatalf("written %t: %v", written, err)
	}
	left := &extensionsv1alpha1.InfrastructureList{}
	if err := seed.List(t.Context(), left); err != nil || len(left.Items) > 0 {
		t.Errorf("%d infrastructures are left: %v", len(left.Items), err)
	}
}

func TestWhatRemovesLeftoversDisownsFirst(t *testing.T) {
	t.Parallel()
	stop := errors.New("stopped")
	onA, _ := controlplanetest.OnSeedA(t, "Reconcile", nil, interceptor.Funcs{})
	o := New(onA)
	seed := fake.NewClientBuilder().WithScheme(controlplanetest.FullScheme(t)).
		WithObjects(controlPlaneOf("shoot--p--alpha")...).Build()
	o.Seed = interceptor.NewClient(seed,
		interceptor.Funcs{DeleteAllOf: func(context.Context, client.WithWatch, client.Object,
			...client.DeleteAllOfOption) error {
			return stop
		}})
	if err := o.Remove(t.Context()); !errors.Is(err, stop) {
		t.Fatalf("got %v", err)
	}
	namespace := &corev1.Namespace{}
	if err := seed.Get(t.Context(), client.ObjectKey{Name: "shoot--p--alpha"}, namespace); err != nil {
		t.Fatal(err)
	}
	if epoch, has := namespace.Annotations[constants.OwnershipEpoch]; has {
		t.Errorf("the namespace still gives epoch %s away", epoch)
	}
}

// controlPlaneOf a shoot, as it lies on a seed: workloads, machines, extension objects that keep what they stand for.
func controlPlaneOf(namespace string) []client.Object {
	in := func(name, finalizer string) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Namespace: namespace, Name: name}
		if finalizer != "" {
			m.Finalizers = []string{finalizer}
		}
		return m
	}
	const extension = "extensions.gardener.cloud/transplant"
	outside := func(name string) metav1.ObjectMeta {
		m := in(name, extension)
		m.Namespace = ""
		return m
	}
	entry := namespace + "--uid"
	secret := &corev1.Secret{ObjectMeta: in("entry-"+entry, extension)}
	secret.Namespace = "garden"
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace,
			Annotations: map[string]string{constants.OwnershipEpoch: "7"}}},
		&appsv1.Deployment{ObjectMeta: in("machine-controller", "")}, &appsv1.StatefulSet{ObjectMeta: in("etcd-main", "")},
		&corev1.Pod{ObjectMeta: in("etcd-main-0", "")}, &corev1.Pod{ObjectMeta: in("machine-controller-x", "")},
		&machinev1alpha1.Machine{ObjectMeta: in("m1", constants.FinalizerMachineController)},
		&extensionsv1alpha1.Infrastructure{ObjectMeta: in("i", extension)},
		&extensionsv1alpha1.Worker{ObjectMeta: in("w", extension)},
		&extensionsv1alpha1.DNSRecord{ObjectMeta: in("d", extension)},
		&resourcesv1alpha1.ManagedResource{ObjectMeta: in("r", "resources.gardener.cloud/gardener-resource-manager")},
		&extensionsv1alpha1.BackupEntry{ObjectMeta: outside(entry)}, secret,
		&extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
	}
}

// holders are the control-plane namespaces of which there is anything.
func holders(t *testing.T, seed client.Client) []string {
	t.Helper()
	found := map[string]bool{}
	for _, list := range []client.ObjectList{
		&corev1.NamespaceList{}, &corev1.PodList{}, &appsv1.DeploymentList{}, &appsv1.StatefulSetList{},
		&machinev1alpha1.MachineList{},
		&extensionsv1alpha1.InfrastructureList{}, &extensionsv1alpha1.WorkerList{}, &extensionsv1alpha1.DNSRecordList{},
		&resourcesv1alpha1.ManagedResourceList{}, &extensionsv1alpha1.BackupEntryList{}, &extensionsv1alpha1.ClusterList{},
		&corev1.SecretList{},
	} {
		if err := seed.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		objects, err := meta.ExtractList(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			one := object.(client.Object)
			for _, shoot := range []string{"shoot--p--alpha", "shoot--p--beta"} {
				if strings.Contains(one.GetNamespace()+"/"+one.GetName(), shoot) {
					found[shoot] = true
				}
			}
		}
	}
	var names []string
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
