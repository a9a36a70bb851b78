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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// TestOnARealAPIServer lets care look at a shoot on an API server that is garden, seed and shoot at once.
func TestOnARealAPIServer(t *testing.T) {
	w := newWard(t)
	t.Run("a well shoot is well, and who looks again writes nothing", w.testWell)
	t.Run("what changes is counted", w.testMetrics)
	t.Run("each condition fails for its cause, after its threshold, and recovers", w.testCauses)
	t.Run("a problematic webhook is named, remediated and forgiven", w.testWebhooks)
	t.Run("an extension without a heartbeat is not believed", w.testHeartbeat)
	t.Run("evicted pods go", w.testGarbage)
	t.Run("who has lost the shoot writes nothing", w.testLost)
	t.Run("what is handed over is not known", w.testHandOver)
	t.Run("a first look raises no alarm before the threshold", w.testFirstLook)
	t.Run("the label follows", w.testLabel)
}

func (w *ward) testWell(t *testing.T) {
	w.look(t)
	shoot := w.shoot(t)
	want := map[string]string{
		"Foreign": "False Told", "APIServerAvailable": "True HealthzRequestSucceeded",
		"ControlPlaneHealthy":            "True ControlPlaneRunning",
		"ObservabilityComponentsHealthy": "True ObservabilityComponentsRunning", "EveryNodeReady": "True EveryNodeReady",
		"SystemComponentsHealthy": "True SystemComponentsRunning",
	}
	if diff := cmp.Diff(want, told(shoot.Status.Conditions)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	want = map[string]string{
		"EvacuationPossible": "False NoDestination", "HibernationPossible": "True NoProblematicWebhooks",
		"MaintenancePreconditionsSatisfied": "True NoProblematicWebhooks",
	}
	if diff := cmp.Diff(want, told(shoot.Status.Constraints)); diff != "" {
		t.Errorf("constraints (-want +got):\n%s", diff)
	}
	if want := "https://api.alpha.p.shoots.test:9443"; w.asked != want {
		t.Errorf("the shoot was asked at %q, want %q", w.asked, want)
	}
	w.clock.Step(time.Second)
	w.look(t)
	if again := w.shoot(t); again.ResourceVersion != shoot.ResourceVersion {
		t.Errorf("nothing has changed, but the shoot was written: %s, then %s", shoot.ResourceVersion, again.ResourceVersion)
	}
}

func (w *ward) testCauses(t *testing.T) {
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
				w.healthz.Store(http.StatusInternalServerError)
			}, heal: func(*testing.T) { w.healthz.Store(0) },
		},
		{
			condition: "ControlPlaneHealthy", reason: "DeploymentUnhealthy", threshold: time.Minute,
			inflict: func(t *testing.T) { w.status(t, deployment, deploymentStatus("False")) },
			heal:    func(t *testing.T) { w.status(t, deployment, deploymentStatus("True")) },
		},
		{
			condition: "EveryNodeReady", reason: "NodeUnhealthy", threshold: 5 * time.Minute,
			inflict: func(t *testing.T) { w.status(t, node, nodeStatus("False")) },
			heal:    func(t *testing.T) { w.status(t, node, nodeStatus("True")) },
		},
		{
			condition: "EveryNodeReady", reason: "NodeAgentUnhealthy", threshold: 5 * time.Minute,
			inflict: func(t *testing.T) { w.silentAgents = true; w.remove(t, agentLease()) },
			heal:    func(t *testing.T) { w.silentAgents = false; w.create(t, agentLease()) },
		},
		{
			condition: "SystemComponentsHealthy", reason: "Broken", threshold: time.Minute,
			inflict: func(t *testing.T) { w.status(t, managed("in-shoot"), managedStatus("False")) },
			heal:    func(t *testing.T) { w.status(t, managed("in-shoot"), managedStatus("True")) },
		},
		{
			condition: "ObservabilityComponentsHealthy", reason: "Broken", threshold: time.Minute,
			inflict: func(t *testing.T) { w.status(t, managed("watching"), managedStatus("False")) },
			heal:    func(t *testing.T) { w.status(t, managed("watching"), managedStatus("True")) },
		},
	} {
		t.Run(c.condition, func(t *testing.T) {
			before := told(w.shoot(t).Status.Conditions)
			expect := func(status string) {
				t.Helper()
				w.beat(t)
				w.look(t)
				got := told(w.shoot(t).Status.Conditions)
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
			w.clock.Step(c.threshold - time.Second)
			expect("Progressing")
			w.clock.Step(2 * time.Second)
			expect("False")
			c.heal(t)
			expect("True")
		})
	}
}

func (w *ward) testWebhooks(t *testing.T) {
	hook := refusing("pods")
	hook.Name, hook.Webhooks[0].TimeoutSeconds = "strict", ptr.To[int32](10)
	hook.Webhooks[0].ClientConfig.URL = ptr.To("https://127.0.0.1:1/")
	hook.Webhooks[0].SideEffects,
		hook.Webhooks[0].AdmissionReviewVersions = ptr.To(admissionregistrationv1.SideEffectClassNone), []string{"v1"}
	w.create(t, &hook)
	excluded := refusing("pods")
	excluded.Name, excluded.Labels, excluded.Webhooks[0].ClientConfig = "strict-too",
		map[string]string{"remediation.webhook.shoot.gardener.cloud/exclude": "true"}, hook.Webhooks[0].ClientConfig
	excluded.Webhooks[0].SideEffects, excluded.Webhooks[0].AdmissionReviewVersions = hook.Webhooks[0].SideEffects,
		[]string{"v1"}
	w.create(t, &excluded)
	left := excluded.ResourceVersion
	expect := func(want string) {
		t.Helper()
		w.beat(t)
		w.look(t)
		constraints := w.shoot(t).Status.Constraints
		for _, kind := range []string{"HibernationPossible", "MaintenancePreconditionsSatisfied"} {
			if got := told(constraints)[kind]; got != want {
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
	w.get(t, &hook)
	if hook.Annotations["gardener.cloud/warning"] != "" {
		t.Error("a webhook was changed although nobody has switched the remediator on")
	}
	w.reconciler.RemediateWebhooks = true
	defer func() { w.reconciler.RemediateWebhooks = false }()
	expect("False ProblematicWebhooks") // and changes it
	w.get(t, &hook)
	w.get(t, &excluded)
	if excluded.ResourceVersion != left {
		t.Error("a webhook was changed that is excluded")
	}
	w.remove(t, &excluded)
	if warning := hook.Annotations["gardener.cloud/warning"]; !strings.Contains(warning,
		`namespaceSelector of webhook "w.example.com" was extended`) {
		t.Errorf("warning %q", warning)
	}
	version := hook.ResourceVersion
	expect("False RemediatedWebhooks")
	w.get(t, &hook)
	if hook.ResourceVersion != version {
		t.Error("a webhook that is remediated was written again")
	}
	before := hook.DeepCopy()
	delete(hook.Annotations, "gardener.cloud/warning")
	must(t, w.Patch(t.Context(), &hook, client.MergeFrom(before)))
	expect("True NoProblematicWebhooks")
	w.remove(t, &hook)
	// The API server learns by a watch that it may let pods pass, which others make.
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			return w.Create(ctx, podOf("default", "probe"), client.DryRunAll) == nil, nil
		})
	if err != nil {
		t.Fatalf("wait until pods may be made again: %v", err)
	}
}

func (w *ward) testHeartbeat(t *testing.T) {
	w.clock.Step(6 * time.Minute)
	w.renewNodeLeases(t)
	w.look(t)
	if got := told(w.shoot(t).Status.Conditions)["EveryNodeReady"]; got != "Unknown WorkerOutdatedHealthCheckReport" {
		t.Errorf("six minutes after the last heartbeat: %s", got)
	}
	w.beat(t)
	w.look(t)
	if got := told(w.shoot(t).Status.Conditions)["EveryNodeReady"]; got != "True EveryNodeReady" {
		t.Errorf("after a heartbeat: %s", got)
	}
}

func (w *ward) testGarbage(t *testing.T) {
	pods := map[string]*corev1.Pod{}
	for _, namespace := range []string{"kube-system", "default"} {
		pods[namespace] = w.evicted(t, namespace, "evicted")
	}
	w.look(t)
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(pods["kube-system"]),
		&corev1.Pod{}); !apierrors.IsNotFound(err) {
		t.Errorf("an evicted pod in kube-system: %v", err)
	}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(pods["default"]), &corev1.Pod{}); err != nil {
		t.Errorf("an evicted pod of a user: %v", err)
	}
}

func podOf(namespace, name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	p.Spec.AutomountServiceAccountToken = ptr.To(false)
	return p
}

func (w *ward) evicted(t *testing.T, namespace, name string) *corev1.Pod {
	t.Helper()
	p := podOf(namespace, name)
	w.create(t, p)
	w.status(t, p, map[string]any{"phase": "Failed", "reason": "Evicted"})
	return p
}

// testLost gives the shoot away between the look and the write, as when a gardenlet stands still in between.
func (w *ward) testLost(t *testing.T) {
	w.healthz.Store(http.StatusInternalServerError)
	defer w.healthz.Store(0)
	evicted := w.evicted(t, "kube-system", "evicted-elsewhere")
	w.onConfig = func() {
		w.status(t, w.shoot(t), map[string]any{"seedName": "b"})
	}
	w.look(t)
	w.onConfig = nil
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(evicted), evicted); err != nil {
		t.Errorf("the shoot is seed b's, and seed a has mended it: %v", err)
	}
	after := w.shoot(t)
	if got := told(after.Status.Conditions)["APIServerAvailable"]; got != "True HealthzRequestSucceeded" {
		t.Errorf("the shoot is seed b's, and seed a has written %q", got)
	}
	w.look(t)
	if again := w.shoot(t); again.ResourceVersion != after.ResourceVersion {
		t.Error("seed a goes on to write")
	}
	w.status(t, after, map[string]any{"seedName": "a"})
}

func (w *ward) testHandOver(t *testing.T) {
	w.status(t, w.shoot(t), lastOperation("Migrate", "Succeeded", w.clock.Now()))
	w.look(t)
	shoot := w.shoot(t)
	for kind, got := range told(shoot.Status.Conditions) {
		if want := map[bool]string{true: "False Told", false: "Progressing"}[kind == "Foreign"]; !strings.HasPrefix(got,
			want) {
			t.Errorf("%s is %q, want %q", kind, got, want)
		}
	}
	w.look(t)
	if again := w.shoot(t); again.ResourceVersion != shoot.ResourceVersion {
		t.Error("what is handed over already was written again")
	}
	w.status(t, shoot, lastOperation("Restore", "Succeeded", w.clock.Now()))
	w.beat(t)
	w.look(t)
	if got := told(w.shoot(t).Status.Conditions)["EveryNodeReady"]; got != "True EveryNodeReady" {
		t.Errorf("after the restore: %s", got)
	}
}

func (w *ward) testFirstLook(t *testing.T) {
	w.healthz.Store(http.StatusInternalServerError)
	defer w.healthz.Store(0)
	kept := w.shoot(t).Status.Conditions
	w.status(t, w.shoot(t), map[string]any{"conditions": nil})
	for _, c := range []struct {
		step time.Duration
		want string
	}{{0, "Progressing HealthzRequestFailed"}, {time.Minute + time.Second, "False HealthzRequestFailed"}} {
		w.clock.Step(c.step)
		w.beat(t)
		w.look(t)
		conditions := told(w.shoot(t).Status.Conditions)
		if got := conditions["APIServerAvailable"]; got != c.want {
			t.Errorf("after %s: %s, want %s", c.step, got, c.want)
		}
		if got := conditions["EveryNodeReady"]; got != "True EveryNodeReady" {
			t.Errorf("after %s: %s", c.step, got)
		}
	}
	w.status(t, w.shoot(t), map[string]any{"conditions": kept})
}

func (w *ward) testLabel(t *testing.T) {
	labeler := &Labeler{Garden: w.Client}
	expect := func(want string) {
		t.Helper()
		if _, err := labeler.Reconcile(t.Context(), requestFor(w.shoot(t))); err != nil {
			t.Fatal(err)
		}
		if got := w.shoot(t).Labels["shoot.gardener.cloud/status"]; got != want {
			t.Errorf("label %q, want %q", got, want)
		}
	}
	expect("unhealthy") // the foreign condition is False
	w.status(t, w.shoot(t), map[string]any{"conditions": nil})
	expect("healthy")
	version := w.shoot(t).ResourceVersion
	expect("healthy")
	if w.shoot(t).ResourceVersion != version {
		t.Error("the label was written again")
	}
}

// told is what conditions say, by type.
func told(conditions []gardencorev1beta1.Condition) map[string]string {
	said := map[string]string{}
	for _, c := range conditions {
		said[string(c.Type)] = string(c.Status) + " " + c.Reason
	}
	return said
}
