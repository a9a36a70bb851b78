package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/uuid"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/api/cloud"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

const namespace = "shoot--p--alpha"

// fakeCloud has the machines of one shoot and writes down what is done to them.
type fakeCloud struct {
	mu      sync.Mutex
	next    int
	vms     []cloud.Machine
	tokens  map[string]string
	created int
	deleted int
	refuse  error
	lapsed  error
	lose    bool // answers of creations
}

var _ Cloud = &fakeCloud{}

// Valid implements Owner.
func (c *fakeCloud) Valid(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lapsed
}

var errLost = errors.New("the answer was lost")

func (c *fakeCloud) Create(_ context.Context, m *cloud.Machine, token string) (*cloud.Machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse != nil {
		return nil, c.refuse
	}
	if id, used := c.tokens[token]; used {
		return c.getLocked(id), nil
	}
	c.next++
	made := *m
	made.ID, made.Hostname, made.State = fmt.Sprintf("mac-%d", c.next), m.Name, cloud.MachineRunning
	c.vms = append(c.vms, made)
	if c.tokens == nil {
		c.tokens = map[string]string{}
	}
	c.tokens[token] = made.ID
	c.created++
	if c.lose {
		return nil, errLost
	}
	return &made, nil
}

func (c *fakeCloud) getLocked(id string) *cloud.Machine {
	for i := range c.vms {
		if c.vms[i].ID == id {
			found := c.vms[i]
			return &found
		}
	}
	return nil
}

func (c *fakeCloud) Get(_ context.Context, id string) (*cloud.Machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.getLocked(id), nil
}

func (c *fakeCloud) List(_ context.Context, tags map[string]string) ([]cloud.Machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []cloud.Machine
	for _, vm := range c.vms {
		matches := true
		for key, value := range tags {
			matches = matches && vm.Tags[key] == value
		}
		if matches {
			found = append(found, vm)
		}
	}
	return found, nil
}

func (c *fakeCloud) Delete(_ context.Context, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.vms)
	c.vms = slices.DeleteFunc(c.vms, func(vm cloud.Machine) bool { return vm.ID == id })
	c.deleted += before - len(c.vms)
	return nil
}

func (c *fakeCloud) ids() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []string
	for _, vm := range c.vms {
		ids = append(ids, vm.ID)
	}
	return ids
}

// errCrash is the end of the controller before a write.
var errCrash = errors.New("the controller crashes")

// bench is a control-plane namespace with its machine controller, the shoot, and the cloud.
type bench struct {
	t       *testing.T
	cloud   *fakeCloud
	clock   *testingclock.FakeClock
	control client.WithWatch
	target  client.WithWatch
	events  *eventLog

	deployments *Deployments
	sets        *Sets
	machines    *Machines
	orphans     *Orphans

	down   bool // the shoot's API server
	writes int  // patches of machine objects left until one fails, as in a crash; 0 for never
}

type eventLog struct{ reasons []string }

func (l *eventLog) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	l.reasons = append(l.reasons, reason)
}

func newClient(scheme *runtime.Scheme, statuses ...client.Object) client.WithWatch {
	tracker := clienttesting.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder())
	return fake.NewClientBuilder().WithScheme(scheme).WithObjectTracker(tracker).WithStatusSubresource(statuses...).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string {
			return []string{o.(*corev1.Pod).Spec.NodeName}
		}).Build()
}

// nodeFile is that with which the machines of a bench join.
const nodeFile = `{"shoot":"shoot--p--alpha","server":"https://api.alpha.p.test:9443","token":"t"}`

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, cloud: &fakeCloud{}, clock: testingclock.NewFakeClock(time.Now()), events: &eventLog{}}
	b.control = interceptor.NewClient(
		newClient(ControlScheme(), &machinev1alpha1.MachineDeployment{}, &machinev1alpha1.MachineSet{},
			&machinev1alpha1.Machine{}),
		interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object,
			opts ...client.CreateOption) error {
			o.SetUID(uuid.NewUUID())
			o.SetCreationTimestamp(metav1.NewTime(b.clock.Now()))
			return c.Create(ctx, o, opts...)
		}, Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			if b.writes--; b.writes == 0 {
				return errCrash
			}
			return c.Patch(ctx, o, p, opts...)
		}})
	b.target = interceptor.NewClient(newClient(ControlScheme(), &corev1.Node{}, &corev1.Pod{}), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if b.down {
				return errors.New("connection refused")
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	b.restart()
	b.must(b.control.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "class-1"},
		Data:       map[string][]byte{"userData": []byte(nodeFile)},
	}))
	for _, class := range []string{"class-1", "class-2"} {
		b.must(b.control.Create(t.Context(), &machinev1alpha1.MachineClass{
			ObjectMeta:   metav1.ObjectMeta{Namespace: namespace, Name: class},
			ProviderSpec: runtime.RawExtension{Raw: []byte(`{"type":"m1","zone":"a"}`)},
			SecretRef:    &corev1.SecretReference{Namespace: namespace, Name: "class-1"},
		}))
	}
	return b
}

// restart is a new machine controller.
func (b *bench) restart() {
	b.orphans = &Orphans{
		Control: b.control, Cloud: b.cloud, Owner: b.cloud, Clock: b.clock, Events: b.events, Log: logr.Discard(),
		Namespace:  namespace,
		Quarantine: time.Hour, Every: time.Minute,
	}
	b.deployments = &Deployments{Control: b.control, Target: b.target, Clock: b.clock}
	b.sets = &Sets{Control: b.control, Owner: b.cloud, Clock: b.clock, Orphans: b.orphans}
	b.machines = &Machines{Control: b.control, Target: b.target, Cloud: b.cloud, Clock: b.clock, Timeouts: DefaultTimeouts}
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) deployment(replicas int32,
	change ...func(*machinev1alpha1.MachineDeployment)) *machinev1alpha1.MachineDeployment {
	b.t.Helper()
	labels := map[string]string{"name": "pool-z1"}
	d := &machinev1alpha1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pool-z1", Generation: 1},
		Spec: machinev1alpha1.MachineDeploymentSpec{
			Replicas: replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: machinev1alpha1.MachineDeploymentStrategy{
				Type: "RollingUpdate",
				RollingUpdate: &machinev1alpha1.RollingUpdateMachineDeployment{
					UpdateConfiguration: machinev1alpha1.UpdateConfiguration{
						MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0)),
					}},
			},
			Template: machinev1alpha1.MachineTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       machinev1alpha1.MachineSpec{Class: machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: "class-1"}},
			},
		},
	}
	for _, c := range change {
		c(d)
	}
	b.must(b.control.Create(b.t.Context(), d))
	return d
}

func (b *bench) change(d *machinev1alpha1.MachineDeployment, change func()) {
	b.t.Helper()
	b.must(b.control.Get(b.t.Context(), client.ObjectKeyFromObject(d), d))
	before := d.DeepCopy()
	change()
	d.Generation++
	b.must(b.control.Patch(b.t.Context(), d, client.MergeFrom(before)))
}

// step lets every controller look at every object once. Errors of single machines are part of life.
func (b *bench) step() {
	b.t.Helper()
	for _, list := range []struct {
		list client.ObjectList
		by   reconcile.Reconciler
	}{
		{&machinev1alpha1.MachineDeploymentList{}, b.deployments}, {&machinev1alpha1.MachineSetList{}, b.sets},
		{&machinev1alpha1.MachineList{}, b.machines},
	} {
		b.must(b.control.List(b.t.Context(), list.list))
		for _, key := range keys(list.list) {
			if _, err := list.by.Reconcile(b.t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
				b.t.Logf("%T %s: %v", list.by, key.Name, err)
			}
		}
	}
}

func keys(list client.ObjectList) []types.NamespacedName {
	var found []types.NamespacedName
	switch list := list.(type) {
	case *machinev1alpha1.MachineDeploymentList:
		for i := range list.Items {
			found = append(found, client.ObjectKeyFromObject(&list.Items[i]))
		}
	case *machinev1alpha1.MachineSetList:
		for i := range list.Items {
			found = append(found, client.ObjectKeyFromObject(&list.Items[i]))
		}
	case *machinev1alpha1.MachineList:
		for i := range list.Items {
			found = append(found, client.ObjectKeyFromObject(&list.Items[i]))
		}
	}
	return found
}

// boot registers a node for every machine of the cloud; the nodes of machines that are gone fall silent.
func (b *bench) boot() {
	b.t.Helper()
	vms, err := b.cloud.List(b.t.Context(), nil)
	b.must(err)
	there := map[string]bool{}
	for _, vm := range vms {
		there[vm.Hostname] = true
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: vm.Hostname},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady,
				Status: corev1.ConditionTrue}}},
		}
		if err := b.target.Create(b.t.Context(), node); err != nil && !apierrors.IsAlreadyExists(err) {
			b.t.Fatal(err)
		}
	}
	b.setReady(corev1.ConditionUnknown, func(node string) bool { return !there[node] })
}

func (b *bench) setReady(status corev1.ConditionStatus, which func(node string) bool) {
	b.t.Helper()
	nodes := &corev1.NodeList{}
	b.must(b.target.List(b.t.Context(), nodes))
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if !which(node.Name) || node.Status.Conditions[0].Status == status {
			continue
		}
		before := node.DeepCopy()
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
		b.must(b.target.Status().Patch(b.t.Context(), node, client.MergeFrom(before)))
	}
}

// settle runs the controllers and the nodes for a while, watching every step.
func (b *bench) settle(watch ...func()) {
	b.t.Helper()
	for range 40 {
		b.step()
		b.boot()
		for _, w := range watch {
			w()
		}
		b.clock.Step(time.Second)
	}
}

// until is settle that stops when done, and then looks whether anything more happens.
func (b *bench) until(done func() bool, watch ...func()) {
	b.t.Helper()
	for left := 40; left > 0; left-- {
		if left > 4 && done() {
			left = 4
		}
		b.step()
		b.boot()
		for _, w := range watch {
			w()
		}
		b.clock.Step(time.Second)
	}
}

func (b *bench) all() []machinev1alpha1.Machine {
	b.t.Helper()
	list := &machinev1alpha1.MachineList{}
	b.must(b.control.List(b.t.Context(), list))
	return list.Items
}

func (b *bench) running() int {
	n := 0
	machines := b.all()
	for i := range machines {
		if available(&machines[i]) {
			n++
		}
	}
	return n
}

func (b *bench) expect(what string, machines, vms, created, deleted int) {
	b.t.Helper()
	var phases []string
	for _, m := range b.all() {
		phases = append(phases, m.Name+"="+string(m.Status.CurrentStatus.Phase))
	}
	if len(b.all()) != machines || len(b.cloud.ids()) != vms || b.cloud.created != created || b.cloud.deleted != deleted {
		b.t.Errorf("%s: %d Machines, %d in the cloud, %d created, %d deleted; want %d, %d, %d, %d (%s)", what,
			len(b.all()), len(b.cloud.ids()), b.cloud.created, b.cloud.deleted, machines, vms, created, deleted,
			strings.Join(phases, " "))
	}
}

func strategy(kind, surge, unavailable string) machinev1alpha1.MachineDeploymentStrategy {
	s, u := intstr.Parse(surge), intstr.Parse(unavailable)
	return machinev1alpha1.MachineDeploymentStrategy{
		Type: machinev1alpha1.MachineDeploymentStrategyType(kind),
		RollingUpdate: &machinev1alpha1.RollingUpdateMachineDeployment{
			UpdateConfiguration: machinev1alpha1.UpdateConfiguration{MaxSurge: &s, MaxUnavailable: &u},
		},
	}
}
