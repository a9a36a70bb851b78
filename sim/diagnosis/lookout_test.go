package diagnosis

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/world"
)

// byLabel finds owners by labels of pods.
type byLabel struct{}

var _ world.PodOwners = byLabel{}

func (byLabel) OwnerOf(cluster string, pod *corev1.Pod) (world.PodOwner, bool) {
	extension, actor, shoot := pod.Labels["extension"], pod.Labels["actor"], pod.Labels["shoot"]
	if extension != "" {
		actor = extension + "-" + cluster
	}
	return world.PodOwner{Actor: actor, Extension: extension, Shoot: shoot}, actor != ""
}

func podOf(name string, labels map[string]string, status corev1.ContainerStatus) *corev1.Pod {
	status.Name = "main"
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "somewhere", Name: name, Labels: labels, CreationTimestamp: metav1.Now()},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{status}},
	}
}

func crashLoop(code int) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		State: waiting("CrashLoopBackOff", ""), RestartCount: 3,
		LastTerminationState: corev1.ContainerState{Terminated: ended(code, 0, "Error")},
	}
}

func lookoutOn(pods ...runtime.Object) (*Lookout, *fake.Clientset) {
	api := fake.NewClientset(pods...)
	return &Lookout{clock: clock.RealClock{},
		clinics: []*Clinic{{Cluster: "a", Owners: byLabel{}, Clock: clock.RealClock{}, API: api}}}, api
}

func TestLookout_Watch_CrashLoop_EndsTheWaitAndNamesIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		want []string
	}{
		{"a third-party extension", podOf("vault-0", map[string]string{"extension": "vault"}, crashLoop(3)), []string{
			"the extension vault never came up on seed a: exit code 3, restarts: 3 (container main of pod somewhere/vault-0)",
			"its log ends with:\n  | fake logs", "This is a finding about the extension vault",
		}},
		{"an actor of the landscape", podOf("g", map[string]string{"actor": "gardenlet-a"}, crashLoop(1)), []string{
			"the actor gardenlet-a never came up on seed a: exit code 1", "This is an error of the set-up",
		}},
		{"a control plane", podOf("k", map[string]string{"actor": "control-planes-a", "shoot": "alpha"}, crashLoop(1)),
			[]string{
				"the control plane of shoot alpha never came up on seed a", "This is an error of the set-up",
			}},
		{"a third-party extension without its image", podOf("v", map[string]string{"extension": "vault"},
			corev1.ContainerStatus{State: waiting("ErrImagePull", "no such image")}), []string{
			"the extension vault could not be started on seed a: ErrImagePull: no such image",
			"This is an error of the set-up: check image, command and binary",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l, _ := lookoutOn(c.pod)
			watched, stop := l.Watch(t.Context())
			<-watched.Done()
			stop()
			err := l.Why(t.Context(), watched, errors.New("some wait was cut short"))
			never := (*NeverUpError)(nil)
			if !errors.As(err, &never) {
				t.Fatalf("%v, want a NeverUpError", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q has no %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "cut short") {
				t.Errorf("%q names those that have waited", err)
			}
		})
	}
}

func TestLookout_Explain_NamesWhatIsNotUp(t *testing.T) {
	t.Parallel()
	slow := podOf("vault-0", map[string]string{"extension": "vault"},
		corev1.ContainerStatus{State: corev1.ContainerState{Terminated: ended(1, 60, "Error")}})
	unscheduled := podOf("g", map[string]string{"actor": "gardenlet-a"}, corev1.ContainerStatus{})
	unscheduled.Status = corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled,
		Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no node"}}}
	foreign := podOf("dns", nil, crashLoop(1))
	leaving := podOf("old", map[string]string{"actor": "gateway-a"}, crashLoop(1))
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: noon}, []string{"kept"}
	l, _ := lookoutOn(slow, unscheduled, foreign, leaving)
	if found := l.hopeless(t.Context()); len(found) > 0 {
		t.Fatalf("%v are not worth waiting for", found)
	}
	late := errors.New("not ready in time")
	err := l.Why(t.Context(), t.Context(), late)
	if !errors.Is(err, late) {
		t.Errorf("%v does not wrap what went wrong", err)
	}
	for _, want := range []string{"the extension vault is not up on seed a: exit code 1, restarts: 0",
		"the actor gardenlet-a is not up on seed a: Unschedulable: no node"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q has no %q", err, want)
		}
	}
	for _, other := range []string{"dns", "gateway-a"} {
		if strings.Contains(err.Error(), other) {
			t.Errorf("%q names %s", err, other)
		}
	}
}

func TestLookout_ClusterThatDoesNotAnswer_IsNotHopeless(t *testing.T) {
	t.Parallel()
	l, api := lookoutOn(podOf("vault-0", map[string]string{"extension": "vault"}, crashLoop(3)))
	api.PrependReactor("list", "pods", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("refused")
	})
	if found := l.hopeless(t.Context()); len(found) > 0 {
		t.Errorf("%v are not worth waiting for, although nothing is known", found)
	}
	if err := l.Explain(t.Context(), errors.New("late")); !strings.Contains(err.Error(),
		`not known what is up: list the pods of cluster "a": refused`) {
		t.Errorf("%q does not say what is not known", err)
	}
}

func TestLookout_Why_Interrupt_IsNotExplained(t *testing.T) {
	t.Parallel()
	l, _ := lookoutOn(podOf("vault-0", map[string]string{"extension": "vault"}, crashLoop(3)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Why(ctx, ctx, context.Canceled); err.Error() != "context canceled" {
		t.Errorf("%q", err)
	}
}

func TestDescribe_ManyFindings_AreCut(t *testing.T) {
	t.Parallel()
	var all []Finding
	for range 7 {
		all = append(all, Finding{Owner: world.PodOwner{Actor: "gateway-a"}, Cluster: "a", State: Crashing,
			What: "exit code 1"})
	}
	text := Describe(all)
	if got := strings.Count(text, "never came up"); got != 4 || !strings.HasSuffix(text, "and 3 more do not come up") {
		t.Errorf("%d are described: %s", got, text)
	}
}

// What others have written cannot be longer than is good for a verdict.
func TestOneLine_IsBounded(t *testing.T) {
	t.Parallel()
	if got := oneLine(strings.Repeat("long ", 500)); len([]rune(got)) > 501 {
		t.Errorf("%d runes", len([]rune(got)))
	}
}
