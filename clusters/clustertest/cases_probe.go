package clustertest

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

var errStillRunning = errors.New("want the sidecar ended")

func probeCases() []testCase {
	return []testCase{
		{"readiness-follows-command", readinessFollowsCommand},
		{"readiness-http-named-port", readinessHTTPNamedPort},
		{"readiness-tcp", readinessTCP},
		{"readiness-grpc", readinessGRPC},
		{"readiness-success-threshold", readinessSuccessThreshold},
		{"readiness-gate", readinessGate},
		{"liveness-restarts", livenessRestarts},
		{"liveness-own-grace", livenessOwnGrace},
		{"startup-holds-the-others", startupHoldsTheOthers},
		{"startup-failure", startupFailure},
	}
}

// probing asks each second and decides after so many failures.
func probing(handler corev1.ProbeHandler, failures int32) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: handler, PeriodSeconds: 1, FailureThreshold: failures, TimeoutSeconds: 5}
}

func httpGet(path string, port int32) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port)}}
}

func execute(words ...string) corev1.ProbeHandler {
	return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: append([]string{"testpod"}, words...)}}
}

func readiness(probe *corev1.Probe) podOption {
	return edit(func(c *corev1.Container) { c.ReadinessProbe = probe })
}

func liveness(probe *corev1.Probe) podOption {
	return edit(func(c *corev1.Container) { c.LivenessProbe = probe })
}

func readinessFollowsCommand(f *fixture) {
	f.pod("p", "sleep", readiness(probing(execute("exists", "/tmp/ready"), 1)))
	f.awaitPod("p", phase(corev1.PodRunning), running("c"), started("c", true), containerReady("c", false), notReady)
	f.awaitEvent("p", "Unhealthy", "Readiness probe failed")
	f.do("p", "c", "write /tmp/ready")
	f.awaitPod("p", ready, containerReady("c", true))
	f.do("p", "c", "rm /tmp/ready")
	f.awaitPod("p", notReady, containerReady("c", false), restarted("c", 0))
}

func readinessHTTPNamedPort(f *fixture) {
	probe := probing(corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/file/tmp/ready",
		Port: intstr.FromString("web")}}, 1)
	f.pod("p", "serve 8080", readiness(probe), edit(func(c *corev1.Container) {
		c.Ports = []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}}
	}))
	f.awaitEvent("p", "Unhealthy", "statuscode: 500")
	f.do("p", "c", "write /tmp/ready")
	f.awaitPod("p", ready)
}

func readinessTCP(f *fixture) {
	handler := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)}}
	f.pod("p", "await-file /tmp/go on -- serve 8080", readiness(probing(handler, 1)))
	f.awaitEvent("p", "Unhealthy", "connection refused")
	f.do("p", "c", "write /tmp/go on")
	f.awaitPod("p", ready)
}

func readinessGRPC(f *fixture) {
	f.pod("p", "serve-grpc 9090", readiness(probing(corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9090}}, 1)))
	f.awaitPod("p", ready)
}

func readinessSuccessThreshold(f *fixture) {
	probe := probing(execute("count", "/tmp/n"), 1)
	probe.SuccessThreshold = 3
	f.pod("p", "sleep", readiness(probe))
	f.awaitPod("p", ready)
	if output, _ := f.exec("p", "c", "", "testpod", "cat", "/tmp/n"); len(output) < 1 || output < "3" {
		f.Errorf("ready after %s successes, want 3", output)
	}
}

func readinessGate(f *fixture) {
	f.pod("p", "sleep", func(pod *corev1.Pod) {
		pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "transplant.dev/gate"}}
	})
	f.awaitPod("p", condition(corev1.ContainersReady, corev1.ConditionTrue, ""),
		condition(corev1.PodReady, corev1.ConditionFalse, "ReadinessGatesNotReady"))
	f.patchStatus("p", `{"status":{"conditions":[{"type":"transplant.dev/gate","status":"True"}]}}`)
	f.awaitPod("p", ready, condition("transplant.dev/gate", corev1.ConditionTrue, ""))
}

func livenessRestarts(f *fixture) {
	f.pod("p", "serve 8080", liveness(probing(httpGet("/nofile/tmp/sick", 8080), 2)))
	f.awaitPod("p", ready)
	f.do("p", "c", "write /tmp/sick")
	f.awaitPod("p", restarted("c", 1), running("c"), ready)
	f.awaitEvent("p", "Unhealthy", "Liveness probe failed")
	f.awaitEvent("p", "Killing", "failed liveness probe, will be restarted")
}

// livenessOwnGrace would take a minute by the pod's grace period.
func livenessOwnGrace(f *fixture) {
	probe := probing(execute("exit", "1"), 1)
	probe.TerminationGracePeriodSeconds = ptr.To(int64(1))
	f.pod("p", "ignore-term", liveness(probe), grace(3600))
	f.awaitPod("p", restarts("c", 1), before("c", "Error", 137))
	f.forceDelete("p")
}

func startupHoldsTheOthers(f *fixture) {
	f.pod("p", "sleep", liveness(probing(execute("exists", "/tmp/alive"), 1)),
		readiness(probing(execute("exists", "/tmp/alive"), 1)),
		edit(func(c *corev1.Container) { c.StartupProbe = probing(execute("exists", "/tmp/started"), 100) }))
	f.awaitEvent("p", "Unhealthy", "Startup probe failed")
	f.awaitPod("p", running("c"), started("c", false), containerReady("c", false), restarted("c", 0))
	f.do("p", "c", "write /tmp/alive -- write /tmp/started")
	f.awaitPod("p", started("c", true), ready, restarted("c", 0))
}

func startupFailure(f *fixture) {
	f.pod("p", "sleep", edit(func(c *corev1.Container) { c.StartupProbe = probing(execute("exit", "1"), 2) }))
	f.awaitPod("p", restarts("c", 1))
	f.awaitEvent("p", "Killing", "failed startup probe, will be restarted")
}
