package diagnosis

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	testingclock "k8s.io/utils/clock/testing"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// refused is what a Shoot says when an API server cannot call a webhook.
func refused(address string) string {
	return `task "Deploying Kubernetes API server": apply Deployment "shoot--p--alpha/kube-apiserver": Internal error ` +
		`occurred: failed calling webhook "audit.example.org": failed to call webhook: Post "https://` + address +
		`/policy?timeout=10s": dial tcp ` + address + `: connect: connection refused`
}

func shootWith(problem string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{
		"apiVersion": gardencorev1beta1.SchemeGroupVersion.String(), "kind": "Shoot",
		"metadata": object{"namespace": "garden-p", "name": "alpha"}, "spec": object{"seedName": "a"},
		"status": object{"lastErrors": []any{object{"description": problem}}},
	}}
}

// A Shoot that cannot be made because a webhook does not answer says whose webhook that is, by the address of the pod.
func TestWebhooks_NobodyAnswers_IsHopelessAfterAPartOfThePatience(t *testing.T) {
	t.Parallel()
	const silent = "the extension audit never answered on seed a: its webhook audit.example.org does not answer at " +
		"10.0.0.7:9743, and shoot alpha waits for it: dial tcp 10.0.0.7:9743: connect: connection refused"
	for name, c := range map[string]struct {
		problem, suspected, hopeless string
	}{
		"of an extension": {problem: refused("10.0.0.7:9743"), hopeless: silent,
			suspected: strings.Replace(silent, "never answered", "is not done", 1)},
		"of somebody else": {problem: refused("10.0.0.8:9743")},
		"of a Service":     {problem: refused("audit.default.svc:443")},
		"another error":    {problem: `task "Deploying Kubernetes API server": quota`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := testingclock.NewFakeClock(noon)
			pod := podOf("audit", map[string]string{"extension": "audit"}, corev1.ContainerStatus{})
			pod.Status.PodIP = "10.0.0.7"
			garden := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
				map[schema.GroupVersionResource]string{
					gardencorev1beta1.SchemeGroupVersion.WithResource("shoots"): "ShootList"}, shootWith(c.problem))
			w := &Webhooks{Garden: garden, Clock: clock, Patience: time.Minute, Clinics: []*Clinic{{Cluster: "a",
				Owners: byLabel{}, Clock: clock, API: kubernetesfake.NewClientset(pod)}}}
			for _, want := range []struct {
				text     string
				hopeless bool
			}{{c.suspected, false}, {c.suspected, false}, {c.hopeless, true}} {
				found, err := w.Look(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if want.text == "" && len(found) == 0 {
					continue
				}
				if len(found) != 1 || !strings.HasPrefix(found[0].String(), want.text) ||
					found[0].State.Hopeless() != want.hopeless {
					t.Errorf("after %s: %v, want %q", clock.Since(noon), found, want.text)
				}
				clock.Step(5 * time.Second)
			}
		})
	}
}
