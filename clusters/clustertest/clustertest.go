// Package clustertest holds the pods that every backend must run alike: each case makes a pod, or a controller of
// pods, and says what its status, its log and its events must show.
//
// It looks at clusters through their API server only, so that a case means the same wherever pods run. What only one
// backend does or refuses is tested with that backend.
package clustertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/clusters/integrationtest"
)

// Image is the name of the image that the cases run.
const Image = "transplant.dev/testpod:dev"

// Backend is a cluster with at least one node that runs pods, and all controllers they need.
type Backend struct {
	Config *rest.Config // of a user who may do everything
	Image  string       // of testpod; empty means Image
}

// testCase is one test about pods. Its run may assume that the namespace is its own.
type testCase struct {
	name string
	run  func(*fixture)
}

// cases are all test cases, by theme.
func cases() []testCase {
	var all []testCase
	for _, theme := range [][]testCase{
		lifecycleCases(), graceCases(), initCases(), probeCases(), environmentCases(), volumeCases(), securityCases(),
		networkCases(), accessCases(), controllerCases(),
	} {
		all = append(all, theme...)
	}
	return all
}

// Run runs every case as a parallel subtest and returns when all have ended.
func Run(t *testing.T, backend Backend) {
	t.Helper()
	config := rest.CopyConfig(backend.Config)
	config.QPS = -1 // no client-side limit
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatalf("make the client: %v", err)
	}
	if backend.Image == "" {
		backend.Image = Image
	}
	t.Run("pods", func(t *testing.T) {
		for _, c := range cases() {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(newFixture(t, config, client, backend.Image, c.name))
			})
		}
	})
}

// BuildTestPod builds the image's program and returns the folder it is in, which ends with the test. With -short, the
// test is skipped: only pods of a real cluster run the program.
func BuildTestPod(t testing.TB) string {
	t.Helper()
	integrationtest.Mark(t, "builds the program of pods")
	folder := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o",
		filepath.Join(folder, "testpod"),
		"github.com/transplant-sim/transplant/clusters/clustertest/testpod")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build testpod: %v\n%s", err, output)
	}
	return folder
}

// newFixture makes a namespace for one case.
func newFixture(t *testing.T, config *rest.Config, client kubernetes.Interface, image, name string) *fixture {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-" + name + "-"}}
	namespace, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	f := &fixture{T: t, config: config, client: client, image: image, namespace: namespace.Name}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), awaitBound)
		defer cancel()
		if t.Failed() {
			f.describe(ctx)
		}
		if err := client.CoreV1().Namespaces().Delete(ctx, namespace.Name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete the namespace: %v", err)
		}
	})
	f.awaitServiceAccount()
	return f
}

// describe shows what is in the namespace of a case that has failed.
func (f *fixture) describe(ctx context.Context) {
	pods, err := f.client.CoreV1().Pods(f.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		f.Logf("list the pods: %v", err)
		return
	}
	for i := range pods.Items {
		f.Logf("pod %s: %s", pods.Items[i].Name, summary(&pods.Items[i]))
	}
	events, err := f.client.CoreV1().Events(f.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		f.Logf("list the events: %v", err)
		return
	}
	for _, e := range events.Items {
		f.Logf("event %s %s: %s %s (%d)", e.Type, e.InvolvedObject.Name, e.Reason, e.Message, e.Count)
	}
}

// summary is a pod's status on one line.
func summary(pod *corev1.Pod) string {
	text := fmt.Sprintf("%s %s %s;", pod.Status.Phase, pod.Status.Reason, pod.Status.Message)
	for _, c := range pod.Status.Conditions {
		text += fmt.Sprintf(" %s=%s", c.Type, c.Status)
	}
	statuses := append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...),
		pod.Status.ContainerStatuses...)
	for i := range statuses {
		text += "; " + containerSummary(&statuses[i])
	}
	return text
}

func containerSummary(s *corev1.ContainerStatus) string {
	text := fmt.Sprintf("%s ready=%t restarts=%d", s.Name, s.Ready, s.RestartCount)
	if s.State.Running != nil {
		text += " running"
	}
	if s.State.Waiting != nil {
		text += fmt.Sprintf(" waiting %s %q", s.State.Waiting.Reason, s.State.Waiting.Message)
	}
	if s.State.Terminated != nil {
		text += fmt.Sprintf(" terminated %s %d %q", s.State.Terminated.Reason, s.State.Terminated.ExitCode,
			s.State.Terminated.Message)
	}
	if last := s.LastTerminationState.Terminated; last != nil {
		text += fmt.Sprintf(" last %s %d", last.Reason, last.ExitCode)
	}
	return text
}
