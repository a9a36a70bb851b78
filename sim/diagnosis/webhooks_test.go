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

// shootWith problems that its gardenlet has written so long after noon.
func shootWith(name string, after time.Duration, problems ...string) *unstructured.Unstructured {
	var written []any
	for _, problem := range problems {
		written = append(written, object{"description": problem,
			"lastUpdateTime": noon.Add(after).UTC().Format(time.RFC3339)})
	}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": gardencorev1beta1.SchemeGroupVersion.String(), "kind": "Shoot",
		"metadata": object{"namespace": "garden-p", "name": name}, "spec": object{"seedName": "a"},
		"status": object{"lastErrors": written},
	}}
}

// A Shoot that cannot be made because a webhook does not answer says whose webhook that is, by the address of the pod.
// The error of an attempt stays until the next one: only another failed attempt shows that there is still no answer.
func TestWebhooks_NobodyAnswers_IsHopelessWhenALaterAttemptFails(t *testing.T) {
	t.Parallel()
	const (
		extension = "10.0.0.7:9743"
		text      = ": its webhook audit.example.org does not answer at 10.0.0.7:9743, and shoot alpha waits for it: dial " +
			"tcp 10.0.0.7:9743: connect: connection refused"
		suspect = "the extension audit is not done on seed a" + text
		silent  = "the extension audit never answered on seed a" + text
	)
	alpha := func(after time.Duration, problems ...string) []runtime.Object {
		return []runtime.Object{shootWith("alpha", after, problems...)}
	}
	undated := shootWith("alpha", 0)
	undated.Object["status"] = object{"lastErrors": []any{object{"description": refused(extension)}}}
	type look struct {
		garden []runtime.Object
		want   string
	}
	for name, looks := range map[string][]look{
		"attempts fail": {{alpha(time.Second, refused(extension)), suspect},
			{alpha(10*time.Second, refused(extension)), suspect}, {alpha(11*time.Second, refused(extension)), silent}},
		"the error of one attempt stays": {{alpha(time.Second, refused(extension)), suspect},
			{alpha(time.Second, refused(extension)), suspect}, {alpha(time.Second, refused(extension)), suspect}},
		"an attempt fails otherwise in between": {{alpha(time.Second, refused(extension)), suspect},
			{alpha(8*time.Second, "quota"), ""}, {alpha(15*time.Second, refused(extension)), suspect},
			{alpha(25*time.Second, refused(extension)), silent}},
		"another shoot has an old error": {{[]runtime.Object{shootWith("aged", time.Second, refused(extension)),
			shootWith("alpha", 3*time.Second, refused(extension))}, suspect},
			{[]runtime.Object{shootWith("aged", time.Second, refused(extension)),
				shootWith("alpha", 13*time.Second, refused(extension))}, silent}},
		"nobody says when": {{[]runtime.Object{undated}, suspect}, {alpha(15*time.Second, refused(extension)), suspect}},
		"of somebody else": {{alpha(0, refused("10.0.0.8:9743")), ""}, {alpha(time.Minute, refused("10.0.0.8:9743")), ""}},
		"of a Service": {{alpha(0, refused("audit.default.svc:443")), ""},
			{alpha(time.Minute, refused("audit.default.svc:443")), ""}},
		"another error": {{alpha(0, `task "Deploying Kubernetes API server": quota`), ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := podOf("audit", map[string]string{"extension": "audit"}, corev1.ContainerStatus{})
			pod.Status.PodIP = "10.0.0.7"
			w := &Webhooks{Patience: time.Minute, Clinics: []*Clinic{{Cluster: "a", Owners: byLabel{},
				Clock: testingclock.NewFakePassiveClock(noon), API: kubernetesfake.NewClientset(pod)}}}
			for i, look := range looks {
				w.Garden = fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
					map[schema.GroupVersionResource]string{
						gardencorev1beta1.SchemeGroupVersion.WithResource("shoots"): "ShootList"}, look.garden...)
				found, err := w.Look(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if look.want == "" && len(found) == 0 {
					continue
				}
				if len(found) != 1 || look.want == "" || !strings.HasPrefix(found[0].String(), look.want) ||
					found[0].State.Hopeless() != (look.want == silent) {
					t.Errorf("look %d: %v, want %q", i, found, look.want)
				}
			}
		})
	}
}
