package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/crds"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

const patience = 60 * time.Second

// live is an API server that is seed and shoot at once, with a machine controller and nodes for its machines.
type live struct {
	t      *testing.T
	config *rest.Config
	client client.Client
	cloud  *cloudtest.Cloud
	epoch  atomic.Int64 // what the guard answers; 0 means that it is not valid
}

// ServeHTTP is the guard.
func (l *live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != validity.PathValidity {
		<-r.Context().Done()
		return
	}
	answer := validity.Answer{State: validity.Serving, Epoch: l.epoch.Load(),
		Remaining: metav1.Duration{Duration: time.Second}}
	if answer.Epoch == 0 {
		answer.State, answer.Remaining.Duration = "Suspended", 0
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func startLive(t *testing.T) *live {
	t.Helper()
	log.SetLogger(logr.Discard())
	l := &live{t: t, cloud: cloudtest.New(t), config: apiservertest.Start(t, apiservertest.Options{CRDs: crds.Seed()})}
	l.epoch.Store(7)
	var err error
	l.client, err = client.New(l.config, client.Options{Scheme: ControlScheme()})
	l.must(err)
	l.must(l.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	for _, class := range []string{"class-1", "class-2"} {
		l.must(l.client.Create(t.Context(), &machinev1alpha1.MachineClass{
			ObjectMeta:   metav1.ObjectMeta{Namespace: namespace, Name: class},
			ProviderSpec: runtime.RawExtension{Raw: []byte(`{"type":"m1"}`)},
		}))
	}
	return l
}

func (l *live) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// run runs the machine controller until the returned function is called, as a process would.
func (l *live) run() (stop func()) {
	l.t.Helper()
	guard := httptest.NewServer(l)
	boot, err := ownership.NewBootClock()
	l.must(err)
	holder, err := validity.NewHolder(guard.URL, "machine-controller-1", boot, nil)
	l.must(err)
	guarded := &GuardedCloud{Client: l.cloud.Client(l.t), Holder: holder, Shoot: namespace}
	mgr, err := NewManager(l.config, namespace, "0")
	l.must(err)
	timeouts := DefaultTimeouts
	timeouts.Poll = 200 * time.Millisecond
	controllers := &Controllers{
		TargetConfig: l.config, Cloud: guarded, Owner: guarded, Namespace: namespace, Clock: clock.RealClock{},
		Timeouts:   timeouts,
		Quarantine: time.Hour, OrphanPeriod: 500 * time.Millisecond, Workers: 5,
	}
	l.must(controllers.AddToManager(mgr))
	ctx, cancel := context.WithCancel(l.t.Context())
	done := make(chan error, 1)
	go holder.Run(ctx, 100*time.Millisecond, guarded.Revoked)
	go func() { done <- mgr.Start(ctx) }()
	go l.boot(ctx, guarded)
	return func() {
		cancel()
		if err := <-done; err != nil {
			l.t.Errorf("the manager ended with: %v", err)
		}
		guard.CloseClientConnections()
		guard.Close()
	}
}

// boot registers a ready node for every machine of the cloud. A machine that has ended in the meantime registers
// nothing.
func (l *live) boot(ctx context.Context, c Cloud) {
	for {
		vms, _ := c.List(ctx, nil)
		for _, vm := range vms {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: vm.Hostname},
				Spec: corev1.NodeSpec{ProviderID: providerPrefix + vm.ID}}
			if l.client.Create(ctx, node) == nil {
				before := node.DeepCopy()
				node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
				_ = l.client.Status().Patch(ctx, node, client.MergeFrom(before))
				if ended(ctx, c, vm) {
					_ = l.client.Delete(ctx, node)
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ended says whether a machine has gone since it was listed.
func ended(ctx context.Context, c Cloud, vm cloud.Machine) bool {
	for ctx.Err() == nil {
		if now, err := c.List(ctx, nil); err == nil { // it fails for who does not own the shoot just then
			return !slices.ContainsFunc(now, func(other cloud.Machine) bool { return other.ID == vm.ID })
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// until waits for what holds, and says what it was still waiting for.
func (l *live) until(what string, holds func() string) {
	l.t.Helper()
	reason := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if reason = holds(); reason == "" {
			return
		}
	}
	l.t.Fatalf("%s: %s", what, reason)
}

func (l *live) available(d *machinev1alpha1.MachineDeployment, n int32) func() string {
	return func() string {
		l.must(l.client.Get(l.t.Context(), client.ObjectKeyFromObject(d), d))
		s := d.Status
		if s.ObservedGeneration != d.Generation || s.Replicas != n || s.AvailableReplicas != n || s.UpdatedReplicas != n {
			return fmt.Sprintf("status %+v", s)
		}
		return ""
	}
}

func (l *live) change(d *machinev1alpha1.MachineDeployment, change func()) {
	l.t.Helper()
	l.must(l.client.Get(l.t.Context(), client.ObjectKeyFromObject(d), d))
	before := d.DeepCopy()
	change()
	l.must(l.client.Patch(l.t.Context(), d, client.MergeFrom(before)))
}

// TestOnARealAPIServer: machines come, are replaced within bounds and against a disruption budget, and go, on a real
// API server, with a restart and a lapse of ownership in between.
func TestOnARealAPIServer(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	stop := l.run()
	labels := map[string]string{"name": "pool-z1"}
	d := &machinev1alpha1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pool-z1"},
		Spec: machinev1alpha1.MachineDeploymentSpec{
			Replicas: 2, Selector: &metav1.LabelSelector{MatchLabels: labels}, Strategy: strategy("RollingUpdate", "1", "0"),
			Template: machinev1alpha1.MachineTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       machinev1alpha1.MachineSpec{Class: machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: "class-1"}},
			},
		},
	}
	l.must(l.client.Create(t.Context(), d))
	l.until("two machines", l.available(d, 2))
	stop()

	l.epoch.Store(0)
	stop = l.run()
	ledger := len(l.cloud.Ledger())
	l.change(d, func() { d.Spec.Replicas = 3 })
	l.until("a set that wants a third machine", func() string {
		list := &machinev1alpha1.MachineSetList{}
		l.must(l.client.List(t.Context(), list, client.InNamespace(namespace)))
		if set := list.Items[0]; set.Spec.Replicas != 3 || set.Status.ObservedGeneration != set.Generation {
			return fmt.Sprintf("spec %d, status %+v", set.Spec.Replicas, set.Status)
		}
		return ""
	})
	if after := len(l.cloud.Ledger()); after != ledger {
		t.Errorf("the cloud was called without ownership: %v", l.cloud.Ledger()[ledger:])
	}
	l.epoch.Store(8)
	l.until("three machines", l.available(d, 3))
	if last := l.cloud.Ledger()[ledger]; last.Epoch != 8 || last.Shoot != namespace {
		t.Errorf("the call was %+v", last)
	}

	blocked := l.blockedPod()
	l.change(d, func() { d.Spec.Template.Spec.Class.Name = "class-2" })
	l.until("an update that a disruption budget holds up", func() string {
		l.must(l.client.Get(t.Context(), client.ObjectKeyFromObject(d), d))
		if d.Status.UpdatedReplicas < 2 {
			return fmt.Sprintf("status %+v", d.Status)
		}
		return ""
	})
	l.must(l.client.Get(t.Context(), client.ObjectKeyFromObject(blocked), blocked))
	if blocked.DeletionTimestamp != nil {
		t.Error("a pod was evicted against its disruption budget")
	}
	l.must(l.client.Delete(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
		Name: "budget"}}))
	l.until("the end of the pod", func() string { return l.reap(blocked) })
	l.until("three new machines", l.available(d, 3))

	l.must(l.client.Delete(t.Context(), d))
	l.until("the end of everything", func() string {
		nodes := &corev1.NodeList{}
		l.must(l.client.List(t.Context(), nodes))
		if left := l.cloud.IDs("machines"); len(left) > 0 || len(nodes.Items) > 0 {
			return fmt.Sprintf("machines %v, %d nodes", left, len(nodes.Items))
		}
		if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(d), d); err == nil {
			return "the deployment is still there"
		}
		return ""
	})
	stop()
	if creations := count(l.cloud.Ledger(), "create"); creations != 6 {
		t.Errorf("%d machines were created", creations)
	}
}

func count(ledger []cloudtest.Call, verb string) (n int) {
	for _, call := range ledger {
		if call.Verb == verb {
			n++
		}
	}
	return n
}

// blockedPod is a ready pod on one of the nodes, which a disruption budget does not let go.
func (l *live) blockedPod() *corev1.Pod {
	l.t.Helper()
	nodes := &corev1.NodeList{}
	l.must(l.client.List(l.t.Context(), nodes))
	labels := map[string]string{"app": "x"}
	l.must(l.client.Create(l.t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}}))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Labels: labels},
		Spec:       corev1.PodSpec{NodeName: nodes.Items[0].Name, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	l.must(l.client.Create(l.t.Context(), pod))
	before := pod.DeepCopy()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	l.must(l.client.Status().Patch(l.t.Context(), pod, client.MergeFrom(before)))
	l.must(l.client.Create(l.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "budget"},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}))
	return pod
}

// reap is the kubelet that lets an evicted pod go.
func (l *live) reap(pod *corev1.Pod) string {
	if err := l.client.Get(l.t.Context(), client.ObjectKeyFromObject(pod), pod); client.IgnoreNotFound(err) != nil {
		l.t.Fatal(err)
	} else if err != nil {
		return ""
	}
	if pod.DeletionTimestamp == nil {
		return "it was not evicted"
	}
	l.must(client.IgnoreNotFound(l.client.Delete(l.t.Context(), pod, client.GracePeriodSeconds(0))))
	return "it goes"
}
