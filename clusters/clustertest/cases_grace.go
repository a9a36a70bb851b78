package clustertest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func graceCases() []testCase {
	return []testCase{
		{"term-is-heard", termIsHeard},
		{"kill-after-grace", killAfterGrace},
		{"pre-stop-command", preStopCommand},
		{"pre-stop-http", preStopHTTP},
		{"post-start-command", postStartCommand},
		{"post-start-failure", postStartFailure},
	}
}

func termIsHeard(f *fixture) {
	f.pod("p", "term-takes 500ms", never)
	f.awaitLog("p", "c", "waiting for SIGTERM")
	last := f.delete("p")
	if err := all([]check{phase(corev1.PodSucceeded), terminated("c", "Completed", 0)})(last); err != nil {
		f.Error(err)
	}
	f.awaitEvent("p", "Killing", "Stopping container c")
}

func killAfterGrace(f *fixture) {
	f.pod("p", "ignore-term", grace(1))
	f.awaitLog("p", "c", "ignoring SIGTERM")
	begin := time.Now()
	last := f.delete("p")
	if err := all([]check{phase(corev1.PodFailed), terminated("c", "Error", 137)})(last); err != nil {
		f.Error(err)
	}
	if took := time.Since(begin); took < 900*time.Millisecond {
		f.Errorf("the pod was killed after %s, before its grace period of 1s was over", took)
	}
}

func lifecycle(hooks corev1.Lifecycle) podOption {
	return edit(func(c *corev1.Container) { c.Lifecycle = &hooks })
}

func command(words ...string) *corev1.LifecycleHandler {
	return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: append([]string{"testpod"}, words...)}}
}

// preStopCommand ends by itself when it sees what the hook has done, before SIGTERM comes.
func preStopCommand(f *fixture) {
	hook := command("write", "/shared/hook", "done", "--", "pause", "2s")
	f.pod("p", "await-file /shared/hook done -- exit 7", never, shared(), lifecycle(corev1.Lifecycle{PreStop: hook}))
	f.awaitPod("p", ready)
	if err := all([]check{terminated("c", "Error", 7)})(f.delete("p")); err != nil {
		f.Error(err)
	}
}

// preStopHTTP has a second container see what the first one was asked.
func preStopHTTP(f *fixture) {
	hook := &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/append/shared/hook",
		Port: intstr.FromInt32(8080)}}
	witness := f.container("d", "await-file /shared/hook asked -- exit 7")
	witness.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}}
	f.pod("p", "serve 8080", never, with(witness), shared(), lifecycle(corev1.Lifecycle{PreStop: hook}))
	f.awaitLog("p", "c", "serving")
	f.awaitPod("p", ready)
	if err := all([]check{terminated("d", "Error", 7)})(f.delete("p")); err != nil {
		f.Error(err)
	}
}

func postStartCommand(f *fixture) {
	hook := command("write", "/shared/hook", "done")
	f.pod("p", "await-file /shared/hook done -- sleep", shared(), lifecycle(corev1.Lifecycle{PostStart: hook}))
	f.awaitLog("p", "c", `/shared/hook is "done"`)
	f.awaitPod("p", ready, restarted("c", 0))
}

func postStartFailure(f *fixture) {
	f.pod("p", "sleep", lifecycle(corev1.Lifecycle{PostStart: command("exit", "1")}))
	f.awaitEvent("p", "FailedPostStartHook", "")
	f.awaitPod("p", restarts("c", 1))
}
