package extension

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/fence"
	"github.com/transplant-sim/transplant/controllers/extension/operatingsystem"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

const (
	technicalID = "shoot--p--alpha"
	entryName   = technicalID + "--uid-1"
)

// bench is a seed with an extension process on it, and the cloud behind. Seeds share a cloud.
type bench struct {
	t     *testing.T
	name  string
	cloud *cloudtest.Cloud
	clock *testingclock.FakeClock
	epoch int64

	base     client.WithWatch
	seed     client.Client
	provider *provider

	mu     sync.Mutex
	writes []string // every write that reached the API server
	reads  int      // of the API server; not those of what watches have shown
	cut    func(what string) (before, after error)
}

// fixedFence always says that the shoot is owned, in one epoch.
type fixedFence struct{ epoch int64 }

func (f fixedFence) Hold(ctx context.Context, namespace string) (context.Context, context.CancelFunc, error) {
	ctx, cancel := context.WithCancel(ctx)
	return fence.WithoutTerm(ctx, namespace, f.epoch), cancel, nil
}

func newBench(t *testing.T, name string, c *cloudtest.Cloud, epoch int64) *bench {
	t.Helper()
	b := &bench{t: t, name: name, cloud: c, clock: testingclock.NewFakeClock(time.Now()), epoch: epoch}
	statuses := []client.Object{&machinev1alpha1.MachineDeployment{}, &machinev1alpha1.MachineSet{},
		&machinev1alpha1.Machine{}}
	for _, kind := range extensionsv1alpha1.Kinds() {
		statuses = append(statuses, kind.New().(client.Object))
	}
	scheme := scheme()
	// The default tracker makes a REST mapper of the whole scheme for every write.
	tracker := clienttesting.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder())
	b.base = fake.NewClientBuilder().WithScheme(scheme).WithObjectTracker(tracker).WithStatusSubresource(
		statuses...).Build()
	b.restart()
	for _, object := range b.surroundings() {
		if err := b.base.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// restart is a new extension process on the same seed.
func (b *bench) restart() {
	client, err := fence.Guarded(b.cloud.Config())
	if err != nil {
		b.t.Fatal(err)
	}
	b.seed = interceptor.NewClient(b.base, b.interceptors())
	b.provider = &provider{Seed: b.seed, Known: b.base, Cloud: client, Fence: fixedFence{b.epoch}, Clock: b.clock}
}

var errCut = errors.New("the process was cut off")

func (b *bench) interceptors() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			b.read()
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			b.read()
			return c.List(ctx, list, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return b.write("create", o, func() error { return c.Create(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			data, _ := p.Data(o)
			return b.write("patch "+string(data), o, func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return b.write("delete", o, func() error { return c.Delete(ctx, o, opts...) })
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return errors.New("an object was written by Update, not by patch")
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption) error {
			data, _ := p.Data(o)
			return b.write("patch "+sub+" "+string(data), o, func() error {
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			})
		},
	}
}

func (b *bench) write(verb string, o client.Object, do func() error) error {
	what := fmt.Sprintf("%s %T/%s", verb, o, o.GetName())
	b.mu.Lock()
	cut := b.cut
	b.mu.Unlock()
	var after error
	if cut != nil {
		before, lost := cut(what)
		if before != nil {
			return before
		}
		after = lost
	}
	if err := do(); err != nil {
		return err
	}
	b.mu.Lock()
	b.writes = append(b.writes, what)
	b.mu.Unlock()
	return after
}

func (b *bench) read() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads++
}

func (b *bench) written() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.writes)
}

// surroundings are what a gardenlet has put there before any extension object.
func (b *bench) surroundings() []client.Object {
	inShoot := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: technicalID, Name: name} }
	node := cloud.NodeUserData{Shoot: technicalID, Server: "https://api.alpha.p.test:9443", Token: "t"}
	userData, err := node.Marshal()
	if err != nil {
		b.t.Fatal(err)
	}
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: technicalID,
			Annotations: map[string]string{"transplant.dev/epoch": fmt.Sprint(b.epoch)}}},
		b.clusterObject(shoot()),
		&corev1.Secret{ObjectMeta: inShoot("cloudprovider")},
		&corev1.Secret{ObjectMeta: inShoot("user-data"), Data: map[string][]byte{"cloud_config": []byte(userData)}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "entry-" + entryName},
			Data: map[string][]byte{"kubeconfig": []byte("k")}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "bucket"},
			Data: map[string][]byte{"kubeconfig": []byte("k")}},
		&appsv1.Deployment{ObjectMeta: inShoot("machine-controller"),
			Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](0)}},
	}
}

func shoot() *gardencorev1beta1.Shoot {
	s := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "alpha"}}
	s.Spec.Region = "r"
	s.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "pool", Zones: []string{"r-a", "r-b"}}}
	return s
}

func (b *bench) clusterObject(s *gardencorev1beta1.Shoot) *extensionsv1alpha1.Cluster {
	raw, err := json.Marshal(s)
	if err != nil {
		b.t.Fatal(err)
	}
	return &extensionsv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: technicalID},
		Spec:       extensionsv1alpha1.ClusterSpec{Shoot: runtime.RawExtension{Raw: raw}},
	}
}

func (b *bench) setShoot(change func(*gardencorev1beta1.Shoot)) {
	b.t.Helper()
	s := shoot()
	change(s)
	if err := b.base.Update(b.t.Context(), b.updatedCluster(s)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) updatedCluster(s *gardencorev1beta1.Shoot) *extensionsv1alpha1.Cluster {
	current := &extensionsv1alpha1.Cluster{}
	if err := b.base.Get(b.t.Context(), client.ObjectKey{Name: technicalID}, current); err != nil {
		b.t.Fatal(err)
	}
	current.Spec = b.clusterObject(s).Spec
	return current
}

// annotate does what a gardenlet does to ask for an operation, and bumps the time so that requests differ.
func (b *bench) annotate(o extensionsv1alpha1.Object, operation string) {
	b.t.Helper()
	b.clock.Step(2 * time.Second)
	b.change(o, func() {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations["gardener.cloud/operation"] = operation
		annotations["gardener.cloud/timestamp"] = b.clock.Now().UTC().Format(time.RFC3339Nano)
		o.SetAnnotations(annotations)
	})
}

// change patches an object as somebody else than the extension, from what the API server has.
func (b *bench) change(o extensionsv1alpha1.Object, change func()) {
	b.t.Helper()
	b.get(o)
	before := o.DeepCopyObject().(client.Object)
	change()
	if err := b.base.Patch(b.t.Context(), o.(client.Object), client.MergeFrom(before)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) changeStatus(o extensionsv1alpha1.Object, change func()) {
	b.t.Helper()
	b.get(o)
	before := o.DeepCopyObject().(client.Object)
	change()
	if err := b.base.Status().Patch(b.t.Context(), o.(client.Object), client.MergeFrom(before)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) get(o extensionsv1alpha1.Object) {
	b.t.Helper()
	if !b.exists(o) {
		b.t.Fatalf("%T %q is gone", o, o.GetName())
	}
}

func (b *bench) exists(o extensionsv1alpha1.Object) bool {
	b.t.Helper()
	err := b.base.Get(b.t.Context(), client.ObjectKeyFromObject(o.(client.Object)), o.(client.Object))
	if client.IgnoreNotFound(err) != nil {
		b.t.Fatal(err)
	}
	return err == nil
}

func (b *bench) create(o extensionsv1alpha1.Object) {
	b.t.Helper()
	o.SetGeneration(1)
	if err := b.base.Create(b.t.Context(), o.(client.Object)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) delete(o extensionsv1alpha1.Object) {
	b.t.Helper()
	if err := client.IgnoreNotFound(b.base.Delete(b.t.Context(), o.(client.Object))); err != nil {
		b.t.Fatal(err)
	}
}

// once lets the extension look at the object once.
func (b *bench) once(o extensionsv1alpha1.Object) (reconcile.Result, error) {
	b.t.Helper()
	return b.reconciler(o).Reconcile(b.t.Context(),
		reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o.(client.Object))})
}

func (b *bench) reconciler(o extensionsv1alpha1.Object) reconcile.Reconciler {
	p := b.provider
	switch o.(type) {
	case *extensionsv1alpha1.Infrastructure:
		return reconcilerOf(b, p.infrastructure().Kind())
	case *extensionsv1alpha1.DNSRecord:
		return reconcilerOf(b, p.dnsRecord().Kind())
	case *extensionsv1alpha1.BackupBucket:
		return reconcilerOf(b, p.backup().Bucket())
	case *extensionsv1alpha1.BackupEntry:
		return reconcilerOf(b, p.backup().Entry())
	case *extensionsv1alpha1.ControlPlane:
		return reconcilerOf(b, p.managed().ControlPlane())
	case *extensionsv1alpha1.Network:
		return reconcilerOf(b, p.managed().Network())
	case *extensionsv1alpha1.OperatingSystemConfig:
		return reconcilerOf(b, p.operatingSystem().Kind())
	case *extensionsv1alpha1.ContainerRuntime:
		return reconcilerOf(b, p.managed().ContainerRuntime())
	case *extensionsv1alpha1.Extension:
		return reconcilerOf(b, p.managed().Extension())
	case *extensionsv1alpha1.Bastion:
		return reconcilerOf(b, p.infrastructure().Bastion())
	case *extensionsv1alpha1.SelfHostedShootExposure:
		return reconcilerOf(b, p.infrastructure().Exposure())
	case *extensionsv1alpha1.Worker:
		return reconcilerOf(b, p.worker().Kind())
	}
	b.t.Fatalf("no reconciler for %T", o)
	return nil
}

func reconcilerOf[T extensionsv1alpha1.Object](b *bench, kind contract.Kind[T]) reconcile.Reconciler {
	return &contract.Reconciler[T]{
		Client: b.seed, Known: b.base, Clock: b.clock, Kind: kind, Type: typeOf(kind.Name),
		Class: extensionsv1alpha1.ExtensionClassShoot,
	}
}

// settle lets the extension look at the object until it asks for no more, with a machine controller beside it.
func (b *bench) settle(o extensionsv1alpha1.Object) {
	b.t.Helper()
	var last error
	for range 30 {
		result, err := b.once(o)
		last = err
		if err == nil && result.RequeueAfter == 0 {
			return
		}
		b.machineController()
		b.clock.Step(time.Second)
	}
	b.t.Fatalf("%T %q does not settle: %v", o, o.GetName(), last)
}

// ask asks for an operation and lets the extension finish it.
func (b *bench) ask(o extensionsv1alpha1.Object, operation string) {
	b.t.Helper()
	b.annotate(o, operation)
	b.settle(o)
	if b.exists(o) {
		return
	}
}

// machineController says of all MachineDeployments that they are as they should be, and removes those that are to go.
func (b *bench) machineController() {
	b.t.Helper()
	all := &machinev1alpha1.MachineDeploymentList{}
	if err := b.base.List(b.t.Context(), all); err != nil {
		b.t.Fatal(err)
	}
	for i := range all.Items {
		d := &all.Items[i]
		before := d.DeepCopy()
		n := d.Spec.Replicas
		d.Status = machinev1alpha1.MachineDeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n,
			AvailableReplicas: n}
		if err := b.base.Status().Patch(b.t.Context(), d, client.MergeFrom(before)); err != nil {
			b.t.Fatal(err)
		}
	}
}

// last is the last operation in short.
func last(o extensionsv1alpha1.Object) string {
	l := o.GetExtensionStatus().GetLastOperation()
	if l == nil {
		return "none"
	}
	return fmt.Sprintf("%s/%s/%d", l.Type, l.State, l.Progress)
}

// only picks the writes to the object itself, in short.
func only(writes []string, o extensionsv1alpha1.Object) []string {
	var own []string
	suffix := fmt.Sprintf("%T/%s", o, o.GetName())
	for _, w := range writes {
		what, found := strings.CutSuffix(w, suffix)
		if !found {
			continue
		}
		for _, mark := range []struct{ text, name string }{
			{`"state":"Processing"`, "processing"}, {`"state":"Succeeded"`, "succeeded"}, {`"state":"Error"`, "error"},
			{`"finalizers":[`, "finalizer"}, {`"finalizers":null`, "no finalizer"},
			{`"gardener.cloud/operation":null`, "no request"},
		} {
			if strings.Contains(what, mark.text) {
				own = append(own, mark.name)
			}
		}
		if strings.Contains(what, `"annotations":null`) {
			own = append(own, "no request")
		}
	}
	return own
}

func secretsOf(t *testing.T, b *bench, options ...client.ListOption) []corev1.Secret {
	t.Helper()
	all := &corev1.SecretList{}
	if err := b.base.List(t.Context(), all, options...); err != nil {
		t.Fatal(err)
	}
	return all.Items
}

// typeOf is the type of the provider's objects of a kind.
func typeOf(kind string) string {
	if kind == extensionsv1alpha1.OperatingSystemConfigResource {
		return operatingsystem.Image
	}
	return reference.Type
}
