package clustertest

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestCases keeps the list worth its name.
func TestCases(t *testing.T) {
	t.Parallel()
	var names []string
	for _, c := range cases() {
		if slices.Contains(names, c.name) || len("test-"+c.name) > 50 {
			t.Errorf("the name %q is taken, or too long for a namespace", c.name)
		}
		names = append(names, c.name)
	}
	if len(names) < 30 {
		t.Errorf("only %d cases", len(names))
	}
}

// good is a pod that satisfies every check below.
func good() *corev1.Pod {
	now := metav1.NewTime(time.Now())
	ended := &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 3, Message: "because", StartedAt: now,
		FinishedAt: now, ContainerID: "x://1"}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Generation: 2},
		Spec:       corev1.PodSpec{NodeName: "node"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, ObservedGeneration: 2, QOSClass: corev1.PodQOSBurstable, StartTime: &now,
			PodIP: "127.0.64.1", PodIPs: []corev1.PodIP{{IP: "127.0.64.1"}}, HostIP: "127.0.0.1",
			HostIPs:    []corev1.HostIP{{IP: "127.0.0.1"}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, Reason: "Well"}},
			InitContainerStatuses: []corev1.ContainerStatus{
				{Name: "ended", State: corev1.ContainerState{Terminated: ended}},
			},
			ContainerStatuses: []corev1.ContainerStatus{
				{
					Name: "runs", Ready: true, Started: ptr.To(true), RestartCount: 2,
					State:                corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
					LastTerminationState: corev1.ContainerState{Terminated: ended.DeepCopy()},
				},
				{Name: "waits", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff",
					Message: "back-off 10s"}}},
			},
		},
	}
}

// TestChecks has each check accept the good pod, and reject it with one thing spoilt.
func TestChecks(t *testing.T) {
	t.Parallel()
	runs := func(p *corev1.Pod) *corev1.ContainerStatus { return &p.Status.ContainerStatuses[0] }
	for name, test := range map[string]struct {
		check check
		spoil func(*corev1.Pod)
	}{
		"phase": {phase(corev1.PodRunning), func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }},
		"ready": {ready, func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionUnknown }},
		"condition": {condition(corev1.PodReady, corev1.ConditionTrue, "Well"), func(p *corev1.Pod) {
			p.Status.Conditions[0].Reason = "Else"
		}},
		"no condition":  {ready, func(p *corev1.Pod) { p.Status.Conditions = nil }},
		"running":       {running("runs"), func(p *corev1.Pod) { runs(p).State.Running = nil }},
		"running since": {running("runs"), func(p *corev1.Pod) { runs(p).State.Running.StartedAt = metav1.Time{} }},
		"no status":     {running("runs"), func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }},
		"waiting": {waiting("waits", "CrashLoopBackOff", "back-off"), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[1].State.Waiting.Reason = "Else"
		}},
		"waiting for": {waiting("waits", "CrashLoopBackOff", "back-off"), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[1].State.Waiting.Message = ""
		}},
		"terminated": {terminated("ended", "Error", 3), func(p *corev1.Pod) {
			p.Status.InitContainerStatuses[0].State.Terminated.ExitCode = 4
		}},
		"terminated when": {terminated("ended", "Error", 3), func(p *corev1.Pod) {
			p.Status.InitContainerStatuses[0].State.Terminated.FinishedAt = metav1.Time{}
		}},
		"message": {message("ended", "because"), func(p *corev1.Pod) {
			p.Status.InitContainerStatuses[0].State.Terminated.Message = ""
		}},
		"before": {before("runs", "Error", 3), func(p *corev1.Pod) {
			runs(p).LastTerminationState.Terminated = nil
		}},
		"restarts":        {restarts("runs", 2), func(p *corev1.Pod) { runs(p).RestartCount = 1 }},
		"restarted":       {restarted("runs", 2), func(p *corev1.Pod) { runs(p).RestartCount = 3 }},
		"started":         {started("runs", true), func(p *corev1.Pod) { runs(p).Started = nil }},
		"container ready": {containerReady("runs", true), func(p *corev1.Pod) { runs(p).Ready = false }},
		"node":            {placed, func(p *corev1.Pod) { p.Spec.NodeName = "" }},
		"address":         {placed, func(p *corev1.Pod) { p.Status.PodIPs = nil }},
		"host's address":  {placed, func(p *corev1.Pod) { p.Status.HostIP = p.Status.PodIP }},
		"start":           {placed, func(p *corev1.Pod) { p.Status.StartTime = nil }},
		"quality":         {placed, func(p *corev1.Pod) { p.Status.QOSClass = "" }},
		"seen generation": {placed, func(p *corev1.Pod) { p.Generation = 3 }},
		"one of several": {all([]check{ready, phase(corev1.PodRunning)}), func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodFailed
		}},
		"ended as running": {terminated("ended", "Error", 3), func(p *corev1.Pod) {
			p.Status.InitContainerStatuses[0].State.Terminated = nil
		}},
	} {
		if err := test.check(good()); err != nil {
			t.Errorf("%s: the good pod is rejected: %v", name, err)
		}
		spoilt := good()
		test.spoil(spoilt)
		if test.check(spoilt) == nil {
			t.Errorf("%s: the spoilt pod is accepted", name)
		}
	}
}
