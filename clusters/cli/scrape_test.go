package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// Who runs on no cluster has no pod to be found by.
func TestWhatRunsBesideTheClustersIsScraped(t *testing.T) {
	t.Parallel()
	dir, err := rundir.Of(t.TempDir(), "default")
	if err != nil {
		t.Fatal(err)
	}
	lock, _, err := dir.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Unlock() })
	if err := dir.WriteState(rundir.State{Name: "default",
		Processes: []rundir.ProcessState{{Name: "nodes", Metrics: "127.16.0.4:9100"}, {Name: "useless"}}}); err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	(&scrapeTargets{dir: dir}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/targets", nil))
	const want = `[{"targets":["127.16.0.4:9100"],"labels":{"actor":"nodes","cluster":"landscape"}}]`
	if got := strings.TrimSpace(answer.Body.String()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A pod may have several programs of ours, whose ports need names of their own.
func TestTargetsIn_PodsOfEachKind_AreFoundByTheirPorts(t *testing.T) {
	t.Parallel()
	port := func(name string, number int32) []corev1.ContainerPort {
		return []corev1.ContainerPort{{Name: "other", ContainerPort: 1}, {Name: name, ContainerPort: number}}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"}}
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "127.0.0.9"
	pod.Spec.Containers = []corev1.Container{
		{Name: "alone", Ports: port("metrics", 9100)},
		{Name: "guard", Ports: port("metrics-guard", 2381)},
		{Name: "backup", Ports: port("metrics-backup", 8080)},
		{Name: "tls", Ports: port("metrics-secure", 9443)},
	}
	var got []string
	for _, group := range targetsIn(pod, "a") {
		got = append(got, group.Labels["actor"]+" "+strings.Join(group.Targets, " "))
	}
	if diff := cmp.Diff([]string{"alone 127.0.0.9:9100", "guard 127.0.0.9:2381", "backup 127.0.0.9:8080"},
		got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
