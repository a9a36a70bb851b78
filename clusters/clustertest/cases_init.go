package clustertest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func initCases() []testCase {
	return []testCase{
		{"init-in-order", initInOrder},
		{"init-fails", initFails},
		{"init-retries", initRetries},
		{"sidecar", sidecar},
		{"sidecar-restarts", sidecarRestarts},
	}
}

func initInOrder(f *fixture) {
	f.pod("p", "cat /shared/order -- sleep", initWith(
		f.container("i", "pause 300ms -- append /shared/order first"),
		f.container("j", "append /shared/order second"),
	), shared())
	f.awaitPod("p", condition(corev1.PodInitialized, corev1.ConditionFalse, "ContainersNotInitialized"),
		waiting("c", "PodInitializing", ""))
	f.awaitPod("p", ready, terminated("i", "Completed", 0), terminated("j", "Completed", 0), containerReady("i", true),
		condition(corev1.PodInitialized, corev1.ConditionTrue, ""))
	f.awaitLog("p", "c", "first\nsecond\n")
}

func initFails(f *fixture) {
	f.pod("p", "sleep", never, initWith(f.container("i", "exit 4"), f.container("j", "print never")))
	f.awaitPod("p", phase(corev1.PodFailed), terminated("i", "Error", 4), waiting("j", "PodInitializing", ""),
		waiting("c", "PodInitializing", ""),
		condition(corev1.PodInitialized, corev1.ConditionFalse, "ContainersNotInitialized"))
}

func initRetries(f *fixture) {
	f.pod("p", "sleep", initWith(f.container("i", "fail-until /shared/n 3")), shared())
	f.awaitPod("p", ready, terminated("i", "Completed", 0), restarted("i", 2))
}

// sidecar starts before the main container, serves it, and ends after it.
func sidecar(f *fixture) {
	side := f.container("s", "serve 8080")
	side.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	side.StartupProbe = probing(httpGet("/", 8080), 30)
	f.pod("p", "get http://$(POD_IP):8080/ p", never, initWith(side))
	f.awaitLog("p", "c", "answer: p")
	f.awaitPod("p", phase(corev1.PodSucceeded), terminated("c", "Completed", 0),
		of("s", func(s *corev1.ContainerStatus) error {
			if s.State.Terminated == nil {
				return errStillRunning
			}
			return nil
		}))
}

func sidecarRestarts(f *fixture) {
	side := f.container("s", "fail-until /shared/n 3 -- sleep")
	side.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	f.pod("p", "sleep", initWith(side), shared())
	f.awaitPod("p", ready, running("s"), restarted("s", 2), running("c"), restarted("c", 0))
}
