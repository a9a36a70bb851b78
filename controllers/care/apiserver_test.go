package care

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/care/health/healthtest"
)

// TestOnARealAPIServer lets care look at a shoot on an API server that is garden, seed and shoot at once.
func TestOnARealAPIServer(t *testing.T) {
	f := newFixture(t)
	t.Run("a well shoot is well, and who looks again writes nothing", f.testWell)
	t.Run("what changes is counted", f.testMetrics)
	t.Run("each condition fails for its cause, after its threshold, and recovers", f.testCauses)
	t.Run("a problematic webhook is named, remediated and forgiven", f.testWebhooks)
	t.Run("an extension without a heartbeat is not believed", f.testHeartbeat)
	t.Run("a look asks the shoot for each kind once, and the seed for nothing", f.testRequests)
	t.Run("a shoot that is well is asked for everything now and then", f.testWellBefore)
	t.Run("a cache that is behind costs nobody the administrator's token", f.testStaleToken)
	t.Run("evicted pods go", f.testGarbage)
	t.Run("who has lost the shoot writes nothing", f.testLost)
	t.Run("what is handed over is not known", f.testHandOver)
	t.Run("a first look raises no alarm before the threshold", f.testFirstLook)
	t.Run("the label follows", f.testLabel)
}

func (f *fixture) testWell(t *testing.T) {
	f.look(t)
	shoot := f.shoot(t)
	want := map[string]string{
		"Foreign": "False Reported", "APIServerAvailable": "True HealthzRequestSucceeded",
		"ControlPlaneHealthy":            "True ControlPlaneRunning",
		"ObservabilityComponentsHealthy": "True ObservabilityComponentsRunning", "EveryNodeReady": "True EveryNodeReady",
		"SystemComponentsHealthy": "True SystemComponentsRunning",
	}
	if diff := cmp.Diff(want, reasons(shoot.Status.Conditions)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	want = map[string]string{
		"EvacuationPossible": "False NoDestination", "HibernationPossible": "True NoProblematicWebhooks",
		"MaintenancePreconditionsSatisfied": "True NoProblematicWebhooks",
	}
	if diff := cmp.Diff(want, reasons(shoot.Status.Constraints)); diff != "" {
		t.Errorf("constraints (-want +got):\n%s", diff)
	}
	if want := "https://api.alpha.p.shoots.test:9443"; f.asked != want {
		t.Errorf("the shoot was asked at %q, want %q", f.asked, want)
	}
	f.clock.Step(time.Second)
	f.look(t)
	if again := f.shoot(t); again.ResourceVersion != shoot.ResourceVersion {
		t.Errorf("nothing has changed, but the shoot was written: %s, then %s", shoot.ResourceVersion, again.ResourceVersion)
	}
}

func (f *fixture) testCauses(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: technicalID,
		Name: "kube-controller-manager"}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	managed := func(name string) client.Object {
		return &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: technicalID, Name: name}}
	}
	for _, c := range []struct {
		condition, reason string
		threshold         time.Duration
		inflict, heal     func(*testing.T)
	}{
		{
			condition: "APIServerAvailable", reason: "HealthzRequestFailed", threshold: time.Minute,
			inflict: func(*testing.T) {
				f.healthz.Store(http.StatusInternalServerError)
			}, heal: func(*testing.T) { f.healthz.Store(0) },
		},
		{
			condition: "ControlPlaneHealthy", reason: "DeploymentUnhealthy", threshold: time.Minute,
			inflict: func(t *testing.T) { f.status(t, deployment, deploymentStatus("False")) },
			heal:    func(t *testing.T) { f.status(t, deployment, deploymentStatus("True")) },
		},
		{
			condition: "EveryNodeReady", reason: "NodeUnhealthy", threshold: 5 * time.Minute,
			inflict: func(t *testing.T) { f.status(t, node, nodeStatus("False")) },
			heal:    func(t *testing.T) { f.status(t, node, nodeStatus("True")) },
		},
		{
			condition: "EveryNodeReady", reason: "NodeAgentUnhealthy", threshold: 5 * time.Minute,
			inflict: func(t *testing.T) { f.silentAgents = true; f.remove(t, agentLease()) },
			heal:    func(t *testing.T) { f.silentAgents = false; f.create(t, agentLease()) },
		},
		{
			condition: "SystemComponentsHealthy", reason: "Failing", threshold: time.Minute,
			inflict: func(t *testing.T) { f.status(t, managed("in-shoot"), managedStatus("False")) },
			heal:    func(t *testing.T) { f.status(t, managed("in-shoot"), managedStatus("True")) },
		},
		{
			condition: "ObservabilityComponentsHealthy", reason: "Failing", threshold: time.Minute,
			inflict: func(t *testing.T) { f.status(t, managed("watching"), managedStatus("False")) },
			heal:    func(t *testing.T) { f.status(t, managed("watching"), managedStatus("True")) },
		},
	} {
		t.Run(c.condition, func(t *testing.T) {
			before := reasons(f.shoot(t).Status.Conditions)
			expect := func(status string) {
				t.Helper()
				f.beat(t)
				f.look(t)
				got := reasons(f.shoot(t).Status.Conditions)
				want := map[string]string{}
				for kind, was := range before {
					want[kind] = was
				}
				if status != "True" {
					want[c.condition] = status + " " + c.reason
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", status, diff)
				}
			}
			c.inflict(t)
			expect("Progressing")
			f.clock.Step(c.threshold - time.Second)
			expect("Progressing")
			f.clock.Step(2 * time.Second)
			expect("False")
			c.heal(t)
			expect("True")
		})
	}
}

func (f *fixture) testWebhooks(t *testing.T) {
	hook := healthtest.Webhook("pods")
	hook.Name, hook.Webhooks[0].TimeoutSeconds = "strict", ptr.To[int32](10)
	hook.Webhooks[0].ClientConfig.URL = ptr.To("https://127.0.0.1:1/")
	hook.Webhooks[0].SideEffects,
		hook.Webhooks[0].AdmissionReviewVersions = ptr.To(admissionregistrationv1.SideEffectClassNone), []string{"v1"}
	f.create(t, &hook)
	excluded := healthtest.Webhook("pods")
	excluded.Name, excluded.Labels, excluded.Webhooks[0].ClientConfig = "strict-too",
		map[string]string{"remediation.webhook.shoot.gardener.cloud/exclude": "true"}, hook.Webhooks[0].ClientConfig
	excluded.Webhooks[0].SideEffects, excluded.Webhooks[0].AdmissionReviewVersions = hook.Webhooks[0].SideEffects,
		[]string{"v1"}
	f.create(t, &excluded)
	left := excluded.ResourceVersion
	expect := func(want string) {
		t.Helper()
		f.beat(t)
		f.look(t)
		constraints := f.shoot(t).Status.Constraints
		for _, kind := range []string{"HibernationPossible", "MaintenancePreconditionsSatisfied"} {
			if got := reasons(constraints)[kind]; got != want {
				t.Errorf("%s is %q, want %q", kind, got, want)
			}
		}
		for _, c := range constraints {
			if c.Type == "HibernationPossible" && strings.HasPrefix(want, "False") && !cmp.Equal(c.Codes,
				[]gardencorev1beta1.ErrorCode{"ERR_PROBLEMATIC_WEBHOOK"}) {
				t.Errorf("codes %v", c.Codes)
			}
		}
	}
	expect("False ProblematicWebhooks")
	f.get(t, &hook)
	if hook.Annotations["gardener.cloud/warning"] != "" {
		t.Error("a webhook was changed although nobody has switched the remediator on")
	}
	f.reconciler.RemediateWebhooks = true
	defer func() { f.reconciler.RemediateWebhooks = false }()
	expect("False ProblematicWebhooks") // and changes it
	f.get(t, &hook)
	f.get(t, &excluded)
	if excluded.ResourceVersion != left {
		t.Error("a webhook was changed that is excluded")
	}
	f.remove(t, &excluded)
	if warning := hook.Annotations["gardener.cloud/warning"]; !strings.Contains(warning,
		`namespaceSelector of webhook "w.example.com" was extended`) {
		t.Errorf("warning %q", warning)
	}
	version := hook.ResourceVersion
	expect("False RemediatedWebhooks")
	f.get(t, &hook)
	if hook.ResourceVersion != version {
		t.Error("a webhook that is remediated was written again")
	}
	before := hook.DeepCopy()
	delete(hook.Annotations, "gardener.cloud/warning")
	must(t, f.Patch(t.Context(), &hook, client.MergeFrom(before)))
	expect("True NoProblematicWebhooks")
	f.remove(t, &hook)
	// The API server learns by a watch that it may let pods pass, which others make.
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			return f.Create(ctx, podOf("default", "probe"), client.DryRunAll) == nil, nil
		})
	if err != nil {
		t.Fatalf("wait until pods may be made again: %v", err)
	}
}

func (f *fixture) testHeartbeat(t *testing.T) {
	f.clock.Step(6 * time.Minute)
	f.renewNodeLeases(t)
	f.look(t)
	if got := reasons(f.shoot(t).Status.Conditions)["EveryNodeReady"]; got != "Unknown WorkerOutdatedHealthCheckReport" {
		t.Errorf("six minutes after the last heartbeat: %s", got)
	}
	f.beat(t)
	f.look(t)
	if got := reasons(f.shoot(t).Status.Conditions)["EveryNodeReady"]; got != "True EveryNodeReady" {
		t.Errorf("after a heartbeat: %s", got)
	}
	f.testThirdPartyHeartbeat(t)
}

// An extension with a type of its own is believed by its own heartbeat, whoever else lives.
func (f *fixture) testThirdPartyHeartbeat(t *testing.T) {
	network := &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: technicalID, Name: "alpha"}}
	network.Spec.Type = "acme-net"
	f.create(t, network)
	defer func() { must(t, f.Delete(t.Context(), network)) }()
	reason := func() string {
		f.look(t)
		return reasons(f.shoot(t).Status.Conditions)["SystemComponentsHealthy"]
	}
	f.status(t, network, map[string]any{"conditions": []any{f.condition("SystemComponentsHealthy", "True", "Fine")}})
	if got := reason(); got != "Unknown NetworkOutdatedHealthCheckReport" {
		t.Errorf("while it has never shown a heartbeat: %s", got)
	}
	f.create(t, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "extension-acme",
		Name: "gardener-extension-heartbeat"}})
	f.renew(t, "extension-acme", "gardener-extension-heartbeat")
	if got := reason(); got != "True SystemComponentsRunning" {
		t.Errorf("after its heartbeat: %s", got)
	}
	f.status(t, network, map[string]any{"conditions": []any{f.condition("SystemComponentsHealthy", "False", "Broken")}})
	if got := reason(); !strings.HasSuffix(got, "NetworkUnhealthyReport") {
		t.Errorf("when it reports a failure: %s", got)
	}
}

// testRequests counts: a shoot is looked at all the time.
func (f *fixture) testRequests(t *testing.T) {
	f.look(t)
	f.requests.Store(0)
	reads := 0
	uncached := f.reconciler.Factory.Seed
	defer func() { f.reconciler.Factory.Seed = uncached }()
	f.reconciler.Factory.Seed = interceptor.NewClient(f.watching(t), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			options ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, object, options...)
		},
	})
	f.look(t)
	if reads != 0 || f.requests.Load() != 11 {
		t.Errorf("%d reads of the seed without a cache, and %d requests to the shoot", reads, f.requests.Load())
	}
}

// testWellBefore counts the requests to a shoot that is looked at more often than once in a minute.
func (f *fixture) testWellBefore(t *testing.T) {
	f.reconciler.SyncPeriod = 5 * time.Second
	defer func() { f.reconciler.SyncPeriod = time.Minute }()
	looks := func(n int) (requests []int32) {
		t.Helper()
		for range n {
			f.clock.Step(5 * time.Second)
			f.beat(t)
			f.renewNodeLeases(t)
			f.requests.Store(0)
			f.look(t)
			requests = append(requests, f.requests.Load())
		}
		return requests
	}
	hook := healthtest.Webhook("pods")
	hook.Name, hook.Webhooks[0].TimeoutSeconds = "strict", ptr.To[int32](10)
	hook.Webhooks[0].ClientConfig.URL = ptr.To("https://127.0.0.1:1/")
	hook.Webhooks[0].SideEffects,
		hook.Webhooks[0].AdmissionReviewVersions = ptr.To(admissionregistrationv1.SideEffectClassNone), []string{"v1"}
	const all, some = 11, 2
	lost := false
	f.onConfig = func() {
		if lost {
			f.status(t, f.shoot(t), map[string]any{"seedName": "b"})
		}
	}
	defer func() { f.onConfig = nil }()
	for _, c := range []struct {
		after string
		do    func()
		want  []int32
	}{
		{"nothing", func() {}, []int32{some, some, some, some, some, all, some, some}},
		{"an operation", func() {
			f.status(t, f.shoot(t), lastOperation("Reconcile", "Succeeded", f.clock.Now().Add(time.Second)))
		}, []int32{all, some}},
		{"the beginning of an operation", func() {
			f.status(t, f.shoot(t), lastOperation("Reconcile", "Processing", f.clock.Now()))
		}, []int32{all, all}},
		{"its end", func() {
			f.status(t, f.shoot(t), lastOperation("Reconcile", "Succeeded", f.clock.Now()))
		}, []int32{all, some}},
		{"a failure", func() { f.healthz.Store(http.StatusInternalServerError) }, []int32{all, all}},
		{"its end", func() { f.healthz.Store(0) }, []int32{all, some}},
		// It is seen in the look at everything, and from then on each look is at everything.
		{"a problematic webhook", func() { f.create(t, &hook) }, []int32{some, some, some, some, all, all}},
		{"its end", func() { f.remove(t, &hook) }, []int32{all, some}},
	} {
		c.do()
		if diff := cmp.Diff(c.want, looks(len(c.want))); diff != "" {
			t.Errorf("requests in each look after %s (-want +got):\n%s", c.after, diff)
		}
	}
	if got := reasons(f.shoot(t).Status.Constraints)["HibernationPossible"]; got != "True NoProblematicWebhooks" {
		t.Errorf("HibernationPossible is %s", got)
	}
	// Whoever begins with the shoot as it was read writes nothing if it was given away since.
	lost = true
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	f.status(t, node, nodeStatus("False"))
	before := f.shoot(t)
	if diff := cmp.Diff([]int32{some}, looks(1)); diff != "" {
		t.Errorf("requests while the shoot is given away (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before.Status.Conditions, f.shoot(t).Status.Conditions); diff != "" {
		t.Errorf("the shoot is seed b's, and seed a has written (-before +after):\n%s", diff)
	}
	f.status(t, f.shoot(t), map[string]any{"seedName": "a"})
	lost = false
	f.status(t, node, nodeStatus("True"))

	// Leases that were seen count until they expire.
	looks(1)
	f.silentAgents = true
	if diff := cmp.Diff([]int32{some, some, some, some, some, all, some, some, some + 1}, looks(9)); diff != "" {
		t.Errorf("requests in each look after the agent of the node fell silent (-want +got):\n%s", diff)
	}
	if got := reasons(f.shoot(t).Status.Conditions)["EveryNodeReady"]; got != "Progressing NodeAgentUnhealthy" {
		t.Errorf("the agent's Lease has expired, and EveryNodeReady is %s", got)
	}
	f.silentAgents = false
	looks(1)
}

func (f *fixture) testStaleToken(t *testing.T) {
	cached := f.reconciler.Seed
	defer func() { f.reconciler.Seed = cached }()
	f.reconciler.Seed = interceptor.NewClient(f.watching(t), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			if secrets, is := list.(*corev1.SecretList); is {
				for i := range secrets.Items {
					secrets.Items[i].Data["cluster-admin"] = []byte("of before")
				}
			}
			return err
		},
	})
	f.look(t)
	if got := reasons(f.shoot(t).Status.Conditions)["APIServerAvailable"]; got != "True HealthzRequestSucceeded" {
		t.Errorf("with the token of before: %s", got)
	}
}

// watching is the client of the API server, in the form that interceptors take.
func (f *fixture) watching(t *testing.T) client.WithWatch {
	t.Helper()
	c, err := client.NewWithWatch(f.config, client.Options{Scheme: f.Scheme()})
	must(t, err)
	return c
}

func (f *fixture) testGarbage(t *testing.T) {
	pods := map[string]*corev1.Pod{}
	for _, namespace := range []string{"kube-system", "default"} {
		pods[namespace] = f.evicted(t, namespace, "evicted")
	}
	f.look(t)
	if err := f.Get(t.Context(), client.ObjectKeyFromObject(pods["kube-system"]),
		&corev1.Pod{}); !apierrors.IsNotFound(err) {
		t.Errorf("an evicted pod in kube-system: %v", err)
	}
	if err := f.Get(t.Context(), client.ObjectKeyFromObject(pods["default"]), &corev1.Pod{}); err != nil {
		t.Errorf("an evicted pod of a user: %v", err)
	}
}

func podOf(namespace, name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	p.Spec.AutomountServiceAccountToken = ptr.To(false)
	return p
}

func (f *fixture) evicted(t *testing.T, namespace, name string) *corev1.Pod {
	t.Helper()
	p := podOf(namespace, name)
	f.create(t, p)
	f.status(t, p, map[string]any{"phase": "Failed", "reason": "Evicted"})
	return p
}

// testLost gives the shoot away between the look and the write, as when a gardenlet stands still in between.
func (f *fixture) testLost(t *testing.T) {
	f.healthz.Store(http.StatusInternalServerError)
	defer f.healthz.Store(0)
	evicted := f.evicted(t, "kube-system", "evicted-elsewhere")
	f.onConfig = func() {
		f.status(t, f.shoot(t), map[string]any{"seedName": "b"})
	}
	f.look(t)
	f.onConfig = nil
	if err := f.Get(t.Context(), client.ObjectKeyFromObject(evicted), evicted); err != nil {
		t.Errorf("the shoot is seed b's, and seed a has mended it: %v", err)
	}
	after := f.shoot(t)
	if got := reasons(after.Status.Conditions)["APIServerAvailable"]; got != "True HealthzRequestSucceeded" {
		t.Errorf("the shoot is seed b's, and seed a has written %q", got)
	}
	f.look(t)
	if again := f.shoot(t); again.ResourceVersion != after.ResourceVersion {
		t.Error("seed a goes on to write")
	}
	f.status(t, after, map[string]any{"seedName": "a"})
}

func (f *fixture) testHandOver(t *testing.T) {
	f.status(t, f.shoot(t), lastOperation("Migrate", "Succeeded", f.clock.Now()))
	f.look(t)
	shoot := f.shoot(t)
	for kind, got := range reasons(shoot.Status.Conditions) {
		if want := map[bool]string{true: "False Reported", false: "Progressing"}[kind == "Foreign"]; !strings.HasPrefix(got,
			want) {
			t.Errorf("%s is %q, want %q", kind, got, want)
		}
	}
	f.look(t)
	if again := f.shoot(t); again.ResourceVersion != shoot.ResourceVersion {
		t.Error("what is handed over already was written again")
	}
	f.status(t, shoot, lastOperation("Restore", "Succeeded", f.clock.Now()))
	f.beat(t)
	f.look(t)
	if got := reasons(f.shoot(t).Status.Conditions)["EveryNodeReady"]; got != "True EveryNodeReady" {
		t.Errorf("after the restore: %s", got)
	}
}

func (f *fixture) testFirstLook(t *testing.T) {
	f.healthz.Store(http.StatusInternalServerError)
	defer f.healthz.Store(0)
	kept := f.shoot(t).Status.Conditions
	f.status(t, f.shoot(t), map[string]any{"conditions": nil})
	for _, c := range []struct {
		step time.Duration
		want string
	}{{0, "Progressing HealthzRequestFailed"}, {time.Minute + time.Second, "False HealthzRequestFailed"}} {
		f.clock.Step(c.step)
		f.beat(t)
		f.look(t)
		conditions := reasons(f.shoot(t).Status.Conditions)
		if got := conditions["APIServerAvailable"]; got != c.want {
			t.Errorf("after %s: %s, want %s", c.step, got, c.want)
		}
		if got := conditions["EveryNodeReady"]; got != "True EveryNodeReady" {
			t.Errorf("after %s: %s", c.step, got)
		}
	}
	f.status(t, f.shoot(t), map[string]any{"conditions": kept})
}

func (f *fixture) testLabel(t *testing.T) {
	labeler := &Labeler{Garden: f.Client}
	expect := func(want string) {
		t.Helper()
		if _, err := labeler.Reconcile(t.Context(), requestFor(f.shoot(t))); err != nil {
			t.Fatal(err)
		}
		if got := f.shoot(t).Labels["shoot.gardener.cloud/status"]; got != want {
			t.Errorf("label %q, want %q", got, want)
		}
	}
	expect("unhealthy") // the foreign condition is False
	f.status(t, f.shoot(t), map[string]any{"conditions": nil})
	expect("healthy")
	version := f.shoot(t).ResourceVersion
	expect("healthy")
	if f.shoot(t).ResourceVersion != version {
		t.Error("the label was written again")
	}
	// A write to the status since the shoot was read is no reason to read it again.
	labeler.Garden = interceptor.NewClient(f.watching(t), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			o ...client.GetOption) error {
			err := c.Get(ctx, key, object, o...)
			object.SetResourceVersion("1")
			return err
		},
	})
	f.status(t, f.shoot(t), map[string]any{"conditions": []any{map[string]any{"type": "Foreign", "status": "False"}}})
	expect("unhealthy")
}

// reasons are the status and the reason of each condition, by type.
func reasons(conditions []gardencorev1beta1.Condition) map[string]string {
	byType := map[string]string{}
	for _, c := range conditions {
		byType[string(c.Type)] = string(c.Status) + " " + c.Reason
	}
	return byType
}
