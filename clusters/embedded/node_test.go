package embedded_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// Pods belong to their cluster: they are frozen, lost and brought back with it.
func TestPodsShareTheFateOfTheirCluster(t *testing.T) {
	t.Parallel()
	l := startWithNodes(t, embedded.Options{Seeds: []string{}})
	garden := cluster(t, l, "garden")
	_, clients := client(t, garden, clusters.Observer)
	deployEtcd(t, clients)
	awaitRunning(t, clients)
	pod := processOfPod(t)

	must(t, garden.Freeze(t.Context()))
	if got := stateOf(t, pod); got != "T" {
		t.Errorf("the pod's process is in state %q after Freeze, want T", got)
	}
	must(t, garden.Thaw(t.Context()))
	if got := stateOf(t, pod); got == "T" {
		t.Error("the pod's process is stopped after Thaw")
	}

	must(t, garden.Lose(t.Context(), false))
	if pod.Alive() {
		t.Error("the pod outlives its cluster")
	}
	checkNothingLeft(t, l.Dir().Path)

	must(t, garden.Return(t.Context()))
	awaitRunning(t, clients)
	if again := processOfPod(t); again == pod {
		t.Error("the pod's process is the one of before")
	}

	if folders := podFolders(t, garden); len(folders) != 1 {
		t.Errorf("the folders of pods are %v, want one", folders)
	}
	must(t, clients.AppsV1().Deployments("default").Delete(t.Context(), "etcd", metav1.DeleteOptions{}))
	eventually(t, "remove the pod's folder", func() error {
		if folders := podFolders(t, garden); len(folders) > 0 {
			return fmt.Errorf("there are %v", folders)
		}
		return nil
	})
}

func podFolders(t *testing.T, c *embedded.Cluster) []string {
	t.Helper()
	folders, err := c.PodFolders(t.Context())
	must(t, err)
	return folders
}

func deployEtcd(t *testing.T, clients kubernetes.Interface) {
	t.Helper()
	labels := map[string]string{"app": "etcd"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "etcd"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "etcd", Image: embedded.ControlPlaneImage,
					Command: []string{"etcd", "--data-dir=/tmp/etcd", podFlag},
				}}},
			},
		},
	}
	if _, err := clients.AppsV1().Deployments("default").Create(t.Context(), deployment,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// podFlag marks the etcd of this test's pod among all others of the machine.
var podFlag = fmt.Sprintf("--name=pod-of-test-%d", os.Getpid())

func awaitRunning(t *testing.T, clients kubernetes.Interface) {
	t.Helper()
	eventually(t, "run the deployment", func() error {
		deployment, err := clients.AppsV1().Deployments("default").Get(t.Context(), "etcd", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if deployment.Status.ReadyReplicas != 1 {
			return fmt.Errorf("the deployment is %+v", deployment.Status)
		}
		return nil
	})
	eventually(t, "find the pod's process", func() error {
		if len(podProcesses()) == 0 {
			return fmt.Errorf("no process runs with %s", podFlag)
		}
		return nil
	})
}

func processOfPod(t *testing.T) process.ID {
	t.Helper()
	found := podProcesses()
	if len(found) != 1 {
		t.Fatalf("the processes of the pod are %v, want one", found)
	}
	return found[0]
}

// podProcesses looks for etcd itself; what starts it in its namespaces has the same words on its command line.
func podProcesses() []process.ID {
	entries, _ := os.ReadDir("/proc")
	var found []process.ID
	for _, entry := range entries {
		command, _ := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		words := strings.Split(string(command), "\x00")
		if words[0] != "etcd" && !strings.HasSuffix(words[0], "/etcd") || !slices.Contains(words, podFlag) {
			continue
		}
		var pid int
		if _, err := fmt.Sscan(entry.Name(), &pid); err != nil {
			continue
		}
		if id, err := process.Find(pid); err == nil {
			found = append(found, id)
		}
	}
	return found
}

func stateOf(t *testing.T, id process.ID) string {
	t.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id.PID))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), ") ")
	return rest[:1]
}
