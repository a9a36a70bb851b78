package clustertest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func lifecycleCases() []testCase {
	return []testCase{
		{"runs", runs},
		{"completes", completes},
		{"fails", fails},
		{"on-failure-until-success", onFailureUntilSuccess},
		{"always-restarts", alwaysRestarts},
		{"crash-loop", crashLoop},
		{"unknown-command", unknownCommand},
		{"unknown-image", unknownImage},
		{"termination-message", terminationMessage},
		{"termination-message-from-log", terminationMessageFromLog},
		{"one-of-two-fails", oneOfTwoFails},
		{"active-deadline", activeDeadline},
		{"empty-folder-survives-restart", emptyFolderSurvivesRestart},
	}
}

func runs(f *fixture) {
	f.pod("p", "print hello -- sleep")
	f.awaitPod("p", phase(corev1.PodRunning), ready, placed, running("c"), restarted("c", 0), started("c", true),
		containerReady("c", true),
		condition(corev1.PodScheduled, corev1.ConditionTrue, ""), condition(corev1.PodInitialized, corev1.ConditionTrue, ""),
		condition(corev1.ContainersReady, corev1.ConditionTrue, ""), condition(corev1.PodReadyToStartContainers,
			corev1.ConditionTrue, ""))
	f.awaitLog("p", "c", "hello")
	for _, reason := range []string{"Scheduled", "Pulled", "Created", "Started"} {
		f.awaitEvent("p", reason, "")
	}
}

func completes(f *fixture) {
	f.pod("p", "print done", never)
	f.awaitPod("p", phase(corev1.PodSucceeded), terminated("c", "Completed", 0), restarted("c", 0),
		containerReady("c", false), started("c", false),
		condition(corev1.PodReady, corev1.ConditionFalse, "PodCompleted"),
		condition(corev1.PodInitialized, corev1.ConditionTrue, "PodCompleted"))
	f.awaitLog("p", "c", "done")
}

func fails(f *fixture) {
	f.pod("p", "exit 3", never)
	f.awaitPod("p", phase(corev1.PodFailed), terminated("c", "Error", 3), restarted("c", 0),
		condition(corev1.PodReady, corev1.ConditionFalse, "PodFailed"))
}

func onFailureUntilSuccess(f *fixture) {
	f.pod("p", "fail-until /shared/n 3", shared(), restart(corev1.RestartPolicyOnFailure))
	f.awaitPod("p", phase(corev1.PodSucceeded), terminated("c", "Completed", 0), restarted("c", 2))
}

func alwaysRestarts(f *fixture) {
	f.pod("p", "print again")
	f.awaitPod("p", restarts("c", 1), before("c", "Completed", 0))
}

func crashLoop(f *fixture) {
	f.pod("p", "print dying -- exit 5")
	f.awaitPod("p", phase(corev1.PodRunning), notReady, waiting("c", "CrashLoopBackOff", "back-off"),
		before("c", "Error", 5), restarts("c", 1))
	f.awaitEvent("p", "BackOff", "Back-off restarting failed container")
	f.awaitPod("p", restarts("c", 2))
}

func unknownCommand(f *fixture) {
	f.pod("p", "", never, edit(func(c *corev1.Container) { c.Command = []string{"no-such-program"} }))
	f.awaitPod("p", phase(corev1.PodFailed), terminated("c", "StartError", 128), message("c", "no-such-program"))
	f.awaitEvent("p", "Failed", "no-such-program")
}

func unknownImage(f *fixture) {
	f.pod("p", "", edit(func(c *corev1.Container) { c.Image = "transplant.invalid/none:v0" }))
	f.awaitPod("p", phase(corev1.PodPending), notReady, waiting("c", "ImagePullBackOff", "transplant.invalid/none:v0"))
	f.awaitEvent("p", "Failed", "Failed to pull image")
	f.awaitEvent("p", "Failed", "Error: ErrImagePull")
	f.awaitEvent("p", "BackOff", "Back-off pulling image")
	f.delete("p")
}

func terminationMessage(f *fixture) {
	f.pod("p", "write /dev/termination-log because -- exit 1", never)
	f.awaitPod("p", terminated("c", "Error", 1), message("c", "because"))
}

func terminationMessageFromLog(f *fixture) {
	f.pod("p", "print first -- printerr why -- exit 1", never, edit(func(c *corev1.Container) {
		c.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}))
	f.awaitPod("p", terminated("c", "Error", 1), message("c", "why"))
}

func oneOfTwoFails(f *fixture) {
	f.pod("p", "sleep", never, with(f.container("d", "exit 2")))
	f.awaitPod("p", phase(corev1.PodRunning), running("c"), terminated("d", "Error", 2), notReady,
		containerReady("c", true))
	f.awaitLog("p", "c", "waiting for SIGTERM")
	last := f.delete("p")
	if err := all([]check{phase(corev1.PodFailed), terminated("c", "Completed", 0)})(last); err != nil {
		f.Error(err)
	}
}

func activeDeadline(f *fixture) {
	f.pod("p", "sleep", func(pod *corev1.Pod) { pod.Spec.ActiveDeadlineSeconds = ptr.To(int64(2)) })
	pod := f.awaitPod("p", phase(corev1.PodFailed))
	if pod.Status.Reason != "DeadlineExceeded" {
		f.Errorf("got reason %q", pod.Status.Reason)
	}
}

// emptyFolderSurvivesRestart counts in a volume and in the container's own file system: the one stays, the other not.
func emptyFolderSurvivesRestart(f *fixture) {
	f.pod("p", "count /tmp/n -- fail-until /shared/n 3 -- cat /tmp/n /shared/n -- sleep", shared())
	f.awaitPod("p", ready, restarted("c", 2))
	f.awaitLog("p", "c", "count 1\n1\n3\n")
}
