package resource

import (
	"cmp"
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// state is how an object is: empty strings for healthy and rolled out.
type state struct{ unhealthy, progressing string }

// finding is the first object that is amiss, as a reason and a message.
type finding struct{ reason, message string }

// look finds the first object that is not healthy and the first that is not rolled out.
func (r *Reconciler) look(ctx context.Context, objects []*unstructured.Unstructured) (unhealthy, progressing *finding,
	err error) {
	for _, object := range objects {
		if isTrue(object.GetAnnotations(), annotationSkipHealthCheck) {
			continue
		}
		current, err := r.current(ctx, object)
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", describe(object), err)
		}
		s := state{}
		if current == nil {
			unhealthy = cmp.Or(unhealthy, &finding{object.GetKind() + "Missing", describe(object) + " is missing"})
			continue
		}
		if s, err = stateOf(current); err != nil {
			return nil, nil, fmt.Errorf("look at %s: %w", describe(object), err)
		}
		if s.unhealthy != "" && unhealthy == nil {
			unhealthy = &finding{object.GetKind() + "Unhealthy", describe(object) + " is unhealthy: " + s.unhealthy}
		}
		if s.progressing != "" && progressing == nil {
			progressing = &finding{object.GetKind() + "Progressing", describe(object) + " is progressing: " + s.progressing}
		}
	}
	return unhealthy, progressing, nil
}

// stateOf looks at an object. Kinds that it does not know are healthy when they are there.
func stateOf(object *unstructured.Unstructured) (state, error) {
	switch object.GroupVersionKind().GroupKind().String() {
	case "Deployment.apps":
		return typed(object, deploymentState)
	case "StatefulSet.apps":
		return typed(object, statefulSetState)
	case "DaemonSet.apps":
		return typed(object, daemonSetState)
	case "ReplicaSet.apps":
		return typed(object, func(r *appsv1.ReplicaSet) state {
			return state{unhealthy: fewer("ready replicas", r.Status.ReadyReplicas, ptr.Deref(r.Spec.Replicas, 1))}
		})
	case "Job.batch":
		return typed(object, jobState)
	case "Pod":
		return typed(object, podState)
	case "Service":
		return typed(object, func(s *corev1.Service) state {
			if s.Spec.Type == corev1.ServiceTypeLoadBalancer && len(s.Status.LoadBalancer.Ingress) == 0 {
				return state{unhealthy: "the load balancer has no address yet"}
			}
			return state{}
		})
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return typed(object, definitionState)
	}
	return state{}, nil
}

func typed[T any](object *unstructured.Unstructured, look func(*T) state) (state, error) {
	into := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		return state{}, err
	}
	return look(into), nil
}

// outdated says that the status is about an earlier generation.
func outdated(observed, generation int64) string {
	if observed < generation {
		return fmt.Sprintf("its status is that of generation %d, not %d", observed, generation)
	}
	return ""
}

func fewer(what string, have, want int32) string {
	if have < want {
		return fmt.Sprintf("it has %d of %d %s", have, want, what)
	}
	return ""
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func deploymentState(d *appsv1.Deployment) state {
	s, want := state{}, ptr.Deref(d.Spec.Replicas, 1)
	available := "it is not available"
	for _, c := range d.Status.Conditions {
		switch {
		case c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue:
			available = ""
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			s.unhealthy = c.Message
		}
	}
	stale := outdated(d.Status.ObservedGeneration, d.Generation)
	s.unhealthy = firstOf(stale, s.unhealthy, available)
	s.progressing = firstOf(stale, fewer("updated replicas", d.Status.UpdatedReplicas, want))
	if s.progressing == "" && d.Status.Replicas > d.Status.UpdatedReplicas {
		s.progressing = fmt.Sprintf("%d replicas are of an earlier revision", d.Status.Replicas-d.Status.UpdatedReplicas)
	}
	return s
}

func statefulSetState(s *appsv1.StatefulSet) state {
	want, stale := ptr.Deref(s.Spec.Replicas, 1), outdated(s.Status.ObservedGeneration, s.Generation)
	return state{
		unhealthy:   firstOf(stale, fewer("ready replicas", s.Status.ReadyReplicas, want)),
		progressing: firstOf(stale, fewer("updated replicas", s.Status.UpdatedReplicas, want)),
	}
}

func daemonSetState(d *appsv1.DaemonSet) state {
	want, stale := d.Status.DesiredNumberScheduled, outdated(d.Status.ObservedGeneration, d.Generation)
	s := state{
		unhealthy:   firstOf(stale, fewer("scheduled pods", d.Status.CurrentNumberScheduled, want)),
		progressing: firstOf(stale, fewer("updated pods", d.Status.UpdatedNumberScheduled, want)),
	}
	if s.unhealthy == "" && d.Status.NumberUnavailable > 0 && s.progressing == "" {
		s.unhealthy = fmt.Sprintf("%d of its pods are unavailable", d.Status.NumberUnavailable)
	}
	return s
}

func jobState(j *batchv1.Job) state {
	for _, c := range j.Status.Conditions {
		if c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
			return state{unhealthy: "it failed: " + c.Message}
		}
	}
	return state{}
}

func podState(p *corev1.Pod) state {
	if p.Status.Phase == corev1.PodRunning || p.Status.Phase == corev1.PodSucceeded {
		return state{}
	}
	return state{unhealthy: fmt.Sprintf("it is %s", firstOf(string(p.Status.Phase), "not scheduled"))}
}

func definitionState(d *apiextensionsv1.CustomResourceDefinition) state {
	accepted, established := false, false
	for _, c := range d.Status.Conditions {
		accepted = accepted || (c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionTrue)
		established = established || (c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue)
	}
	if accepted && established {
		return state{}
	}
	return state{unhealthy: "it is not established"}
}
