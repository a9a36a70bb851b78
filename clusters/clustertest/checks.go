package clustertest

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// check says what is wrong with a pod, or nil.
type check func(*corev1.Pod) error

func all(checks []check) check {
	return func(pod *corev1.Pod) error {
		for _, c := range checks {
			if err := c(pod); err != nil {
				return fmt.Errorf("%w; the pod is: %s", err, summary(pod))
			}
		}
		return nil
	}
}

func phase(want corev1.PodPhase) check {
	return func(pod *corev1.Pod) error {
		if pod.Status.Phase != want {
			return fmt.Errorf("want phase %s", want)
		}
		return nil
	}
}

// condition wants a condition's status, and its reason unless that is empty.
func condition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) check {
	return func(pod *corev1.Pod) error {
		for _, c := range pod.Status.Conditions {
			if c.Type == kind && c.Status == status && (reason == "" || c.Reason == reason) {
				return nil
			}
		}
		return fmt.Errorf("want condition %s=%s %s", kind, status, reason)
	}
}

var ready = condition(corev1.PodReady, corev1.ConditionTrue, "")

var notReady = condition(corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady")

// status finds a container's status, of init containers too.
func status(pod *corev1.Pod, name string) (*corev1.ContainerStatus, error) {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if statuses[i].Name == name {
				return &statuses[i], nil
			}
		}
	}
	return nil, fmt.Errorf("want a status of container %s", name)
}

// of applies a check to one container's status.
func of(name string, look func(*corev1.ContainerStatus) error) check {
	return func(pod *corev1.Pod) error {
		s, err := status(pod, name)
		if err != nil {
			return err
		}
		return look(s)
	}
}

func running(name string) check {
	return of(name, func(s *corev1.ContainerStatus) error {
		if s.State.Running == nil || s.State.Running.StartedAt.IsZero() {
			return fmt.Errorf("want %s running", name)
		}
		return nil
	})
}

func waiting(name, reason, message string) check {
	return of(name, func(s *corev1.ContainerStatus) error {
		if w := s.State.Waiting; w == nil || w.Reason != reason || !strings.Contains(w.Message, message) {
			return fmt.Errorf("want %s waiting for %s %q", name, reason, message)
		}
		return nil
	})
}

// terminated wants the current state of a container to be its end.
func terminated(name, reason string, code int32) check {
	return of(name, func(s *corev1.ContainerStatus) error {
		return ended(s.State.Terminated, name, reason, code)
	})
}

// before wants the last run but the current one to have ended so.
func before(name, reason string, code int32) check {
	return of(name, func(s *corev1.ContainerStatus) error {
		return ended(s.LastTerminationState.Terminated, name+"'s last run", reason, code)
	})
}

func ended(state *corev1.ContainerStateTerminated, name, reason string, code int32) error {
	if state == nil || state.Reason != reason || state.ExitCode != code {
		return fmt.Errorf("want %s ended with %s %d", name, reason, code)
	}
	if state.FinishedAt.IsZero() || state.StartedAt.IsZero() || state.ContainerID == "" {
		return fmt.Errorf("want times and a container ID in %+v", state)
	}
	return nil
}

func message(name, text string) check {
	return of(name, func(s *corev1.ContainerStatus) error {
		if t := s.State.Terminated; t == nil || !strings.Contains(t.Message, text) {
			return fmt.Errorf("want %s ended with message %q", name, text)
		}
		return nil
	})
}

// restarts wants at least so many.
func restarts(name string, least int32) check {
	return of(name, func(s *corev1.ContainerStatus) error {
		if s.RestartCount < least {
			return fmt.Errorf("want %d restarts of %s", least, name)
		}
		return nil
	})
}

// restarted wants exactly so many.
func restarted(name string, times int32) check {
	return of(name, func(s *corev1.ContainerStatus) error {
		if s.RestartCount != times {
			return fmt.Errorf("want exactly %d restarts of %s", times, name)
		}
		return nil
	})
}

func started(name string, want bool) check {
	return of(name, func(s *corev1.ContainerStatus) error {
		if s.Started == nil || *s.Started != want {
			return fmt.Errorf("want %s started=%t", name, want)
		}
		return nil
	})
}

func containerReady(name string, want bool) check {
	return of(name, func(s *corev1.ContainerStatus) error {
		if s.Ready != want {
			return fmt.Errorf("want %s ready=%t", name, want)
		}
		return nil
	})
}

// placed wants all that a pod which has been given a place must show.
func placed(pod *corev1.Pod) error {
	s := pod.Status
	switch {
	case pod.Spec.NodeName == "":
		return errors.New("want a node")
	case s.PodIP == "" || len(s.PodIPs) != 1 || s.PodIPs[0].IP != s.PodIP:
		return errors.New("want the pod's address")
	case s.HostIP == "" || s.HostIP == s.PodIP || len(s.HostIPs) != 1:
		return errors.New("want the host's address")
	case s.StartTime == nil:
		return errors.New("want a start time")
	case s.QOSClass == "":
		return errors.New("want a QoS class")
	case s.ObservedGeneration != pod.Generation:
		return errors.New("want the observed generation")
	}
	return nil
}
