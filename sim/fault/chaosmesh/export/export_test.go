package export_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/fault/chaosmesh"
	"github.com/transplant-sim/transplant/sim/fault/chaosmesh/export"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

var ground = landscape.Landscape{Seeds: []landscape.Seed{{Name: "a"}},
	Shoots: []landscape.Shoot{{Name: "alpha", Seed: "a"}}}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func specOf(t *testing.T, text string) *fault.Spec {
	t.Helper()
	of := &fault.Spec{}
	must(t, yaml.Unmarshal([]byte("{name: x, "+text+"}"), of))
	return of
}

// harmed notes what is done to links and pods.
type harmed struct {
	*worldtest.World
	links []any
	pods  []any
}

func (h *harmed) BreakLink(ctx context.Context, actor, target string, f link.Fault,
	hook requests.Hook) (world.Injection, error) {
	h.links = append(h.links, actor, target, f)
	return h.World.BreakLink(ctx, actor, target, f, hook)
}

func (h *harmed) BreakPods(ctx context.Context, cluster string, pods []types.UID, containers []string,
	keepDown bool) (world.Injection, error) {
	h.pods = append(h.pods, cluster, len(pods), strings.Join(containers, ","), keepDown)
	return h.World.BreakPods(ctx, cluster, pods, containers, keepDown)
}

func newWorld(t *testing.T) *harmed {
	t.Helper()
	h := &harmed{World: worldtest.New(t, "a")}
	config, err := h.Connect("a")
	must(t, err)
	c, err := kubernetes.NewForConfig(config)
	must(t, err)
	for name, app := range map[string]string{"g": "gardenlet", "other": "other"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "garden",
			Labels: map[string]string{"app": app}}}
		_, err = c.CoreV1().Pods("garden").Create(t.Context(), pod, metav1.CreateOptions{})
		must(t, err)
	}
	return h
}

// TestFaults_PastedAgain_DoTheSame pastes what is exported into a chaos fault.
func TestFaults_PastedAgain_DoTheSame(t *testing.T) {
	t.Parallel()
	for text, killed := range map[string][]any{
		"cut: {actor: gardenlet-a, target: garden, direction: Both}":                                      nil,
		"cut: {actor: gardenlet-a, target: cloud, direction: ToClient, refuse: true}":                     nil,
		"latency: {actor: gardenlet-a, target: garden, direction: ToServer, delay: 90ms, jitter: 10ms}":   nil,
		"bandwidth: {actor: gardenlet-a, target: shoot/alpha, direction: ToServer, bytesPerSecond: 64Ki}": nil,
		"kill: {actor: gardenlet-a}":                    {"a", 1, "gardenlet", false},
		"kill: {actor: gardenlet-a, restartDelay: 10s}": {"a", 1, "", true},
	} {
		of := specOf(t, text)
		out, err := export.Faults([]*fault.Spec{of}, ground)
		must(t, err)
		content, err := yaml.YAMLToJSON([]byte(out))
		must(t, err)
		pasted := &fault.Chaos{Cluster: fault.Cluster{Cluster: "a"}}
		if err := json.Unmarshal(content, &pasted.Object); err != nil {
			t.Errorf("%s: %v\n%s", text, err, out)
			continue
		}
		if errs := pasted.Check(field.NewPath("chaos"), ground); len(errs) > 0 {
			t.Errorf("%s: %v\n%s", text, errs, out)
		}
		before, after := newWorld(t), newWorld(t)
		_, first := of.Fault()
		_, err = first.Inject(t.Context(), before)
		must(t, err)
		second, err := pasted.Inject(t.Context(), after)
		must(t, err)
		if diff := cmp.Diff(before.links, after.links); diff != "" {
			t.Errorf("%s (-fault +pasted):\n%s", text, diff)
		}
		if diff := cmp.Diff(killed, after.pods); diff != "" || len(after.links)+len(after.pods) == 0 {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		must(t, second.Heal(t.Context()))
	}
}

// TestFaults_OfChaosMesh_StayEqual: an experiment comes out as it was written.
func TestFaults_OfChaosMesh_StayEqual(t *testing.T) {
	t.Parallel()
	of := specOf(t, "chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: StressChaos, metadata: "+
		"{name: busy, labels: {a: b}}, spec: {mode: one, selector: {}, stressors: {cpu: {workers: 1}}, duration: 30s}}}")
	out, err := export.Faults([]*fault.Spec{of}, ground)
	must(t, err)
	if !strings.HasPrefix(out, "---\n# x (chaos), in cluster \"a\"\n") {
		t.Errorf("got\n%s", out)
	}
	content, err := yaml.YAMLToJSON([]byte(out))
	must(t, err)
	var again chaosmesh.Experiment
	must(t, json.Unmarshal(content, &again))
	if !again.Equal(of.Chaos.Object) {
		t.Errorf("got\n%s", out)
	}
}

// TestFaults_WithoutSuchForm_SayWhy: what Chaos Mesh has no form for is a comment.
func TestFaults_WithoutSuchForm_SayWhy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"loseCluster: {cluster: a}": "# x (loseCluster) is left out: no kind of Chaos Mesh does what " +
			"loseCluster does\n",
		"kill: {cluster: a, program: etcd}":                        "only actors are exported",
		"cut: {actor: user, target: shoots}":                       "no pods of one label are user",
		"latency: {actor: gardenlet-a, target: garden, delay: 1s}": "give direction ToServer",
	} {
		out, err := export.Faults([]*fault.Spec{specOf(t, text)}, ground)
		must(t, err)
		if !strings.Contains(out, want) || !strings.HasPrefix(out, "# ") {
			t.Errorf("%s: got %s, want %s", text, out, want)
		}
	}
}
