package health

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// scaledDownAnnotation marks what the dependency watchdog scaled down because nodes could not reach the API server.
const scaledDownAnnotation = "dependency-watchdog.gardener.cloud/meltdown-protection-active"

func (r round) etcds() *finding {
	if r.Etcds.Err != nil {
		return unseen(fmt.Sprintf("Could not list the etcds: %v", r.Etcds.Err))
	}
	items := sortedByName(r.Etcds.Items, func(s *appsv1.StatefulSet) string { return s.Name })
	if missing := lacking(r.Components.Etcds, items, func(s *appsv1.StatefulSet) string {
		return s.Name
	}); len(missing) > 0 {
		return failure("EtcdMissing", "Missing required etcds: "+strings.Join(missing, ", "))
	}
	for _, s := range items {
		if problem := statefulSetProblem(s, slices.Contains(r.Components.Etcds, s.Name)); problem != "" {
			return failure("EtcdUnhealthy", fmt.Sprintf("Etcd %q is unhealthy: %s", s.Name, problem))
		}
	}
	return nil
}

// required looks for Deployments that must be there and at the health of all that are.
func (r round) required(deployments Seen[appsv1.Deployment], what string, names []string) *finding {
	if deployments.Err != nil {
		return unseen(fmt.Sprintf("Could not list the %s: %v", what, deployments.Err))
	}
	items := sortedByName(deployments.Items, func(d *appsv1.Deployment) string { return d.Name })
	if missing := lacking(names, items, func(d *appsv1.Deployment) string { return d.Name }); len(missing) > 0 {
		return failure("DeploymentMissing", fmt.Sprintf("Missing required %s: %s", what, strings.Join(missing, ", ")))
	}
	for _, d := range items {
		if problem := deploymentProblem(d, slices.Contains(names, d.Name)); problem != "" && !meltdown(d) {
			return failure("DeploymentUnhealthy", fmt.Sprintf("Deployment %q is unhealthy: %s", d.Name, problem))
		}
	}
	return nil
}

func meltdown(d *appsv1.Deployment) bool {
	_, marked := d.Annotations[scaledDownAnnotation]
	return marked
}

func scaledDown(deployments []appsv1.Deployment) *finding {
	var names []string
	for _, d := range sortedByName(deployments, func(d *appsv1.Deployment) string { return d.Name }) {
		if meltdown(d) {
			names = append(names, d.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return failure("ControllersScaledDown",
		"The following deployments have been scaled down to 0 replicas by the dependency watchdog: "+strings.Join(names,
			", "))
}

// workloads are the system components in the shoot itself.
func (r round) workloads() *finding {
	c := r.Cluster
	if err := errors.Join(c.DaemonSets.Err, c.Deployments.Err, c.StatefulSets.Err); err != nil {
		return unseen(fmt.Sprintf("Could not list the system components: %v", err))
	}
	for _, d := range sortedByName(c.DaemonSets.Items, func(d *appsv1.DaemonSet) string { return d.Name }) {
		if problem := daemonSetProblem(d); problem != "" {
			return failure("DaemonSetUnhealthy", fmt.Sprintf("DaemonSet %q is unhealthy: %s", d.Name, problem))
		}
	}
	for _, d := range sortedByName(c.Deployments.Items, func(d *appsv1.Deployment) string { return d.Name }) {
		if problem := deploymentProblem(d, false); problem != "" {
			return failure("DeploymentUnhealthy", fmt.Sprintf("Deployment %q is unhealthy: %s", d.Name, problem))
		}
	}
	for _, s := range sortedByName(c.StatefulSets.Items, func(s *appsv1.StatefulSet) string { return s.Name }) {
		if problem := statefulSetProblem(s, false); problem != "" {
			return failure("StatefulSetUnhealthy", fmt.Sprintf("StatefulSet %q is unhealthy: %s", s.Name, problem))
		}
	}
	return nil
}

// deploymentProblem says what is amiss with a Deployment. One that must run may not be scaled to zero.
func deploymentProblem(d *appsv1.Deployment, mustRun bool) string {
	switch {
	case d.Status.ObservedGeneration < d.Generation:
		return outdated(d.Status.ObservedGeneration, d.Generation)
	case mustRun && ptr.Deref(d.Spec.Replicas, 1) == 0:
		return "it is scaled to 0 replicas"
	}
	wanted := map[appsv1.DeploymentConditionType]corev1.ConditionStatus{
		appsv1.DeploymentAvailable: corev1.ConditionTrue, appsv1.DeploymentProgressing: corev1.ConditionTrue,
		appsv1.DeploymentReplicaFailure: corev1.ConditionFalse,
	}
	available := false
	for _, c := range d.Status.Conditions {
		available = available || c.Type == appsv1.DeploymentAvailable
		if status, matters := wanted[c.Type]; matters && c.Status != status {
			return fmt.Sprintf("condition %q is %s: %s", c.Type, c.Status, c.Message)
		}
	}
	if !available {
		return fmt.Sprintf("condition %q is missing", appsv1.DeploymentAvailable)
	}
	return ""
}

func statefulSetProblem(s *appsv1.StatefulSet, mustRun bool) string {
	want := ptr.Deref(s.Spec.Replicas, 1)
	switch {
	case s.Status.ObservedGeneration < s.Generation:
		return outdated(s.Status.ObservedGeneration, s.Generation)
	case mustRun && want == 0:
		return "it is scaled to 0 replicas"
	case s.Status.ReadyReplicas < want:
		return fmt.Sprintf("%d of %d replicas are ready", s.Status.ReadyReplicas, want)
	}
	return ""
}

// daemonSetProblem allows as many pods to be missing as a rollout may take down.
func daemonSetProblem(d *appsv1.DaemonSet) string {
	if d.Status.ObservedGeneration < d.Generation {
		return outdated(d.Status.ObservedGeneration, d.Generation)
	}
	desired := d.Status.DesiredNumberScheduled
	if d.Status.CurrentNumberScheduled < desired {
		return fmt.Sprintf("%d of %d pods are scheduled", d.Status.CurrentNumberScheduled, desired)
	}
	tolerated := 0
	if update := d.Spec.UpdateStrategy.RollingUpdate; update != nil && update.MaxUnavailable != nil &&
		d.Status.UpdatedNumberScheduled < desired {
		// Rounded down, so that a small DaemonSet without any pod ready is not taken for healthy.
		if scaled, err := intstr.GetScaledValueFromIntOrPercent(update.MaxUnavailable, int(desired), false); err == nil {
			tolerated = scaled
		}
	}
	if missing := int(desired - d.Status.NumberReady); missing > tolerated {
		return fmt.Sprintf("%d of %d pods are ready", d.Status.NumberReady, desired)
	}
	return ""
}

func outdated(observed, generation int64) string {
	return fmt.Sprintf("observed generation %d is outdated, want %d", observed, generation)
}

// sortedByName are pointers to the items in order of names, so that the same problem is reported in every round.
func sortedByName[T any](items []T, name func(*T) string) []*T {
	sorted := make([]*T, 0, len(items))
	for i := range items {
		sorted = append(sorted, &items[i])
	}
	slices.SortStableFunc(sorted, func(a, b *T) int { return strings.Compare(name(a), name(b)) })
	return sorted
}

func lacking[T any](names []string, items []*T, name func(*T) string) []string {
	var missing []string
	for _, wanted := range names {
		if !slices.ContainsFunc(items, func(item *T) bool { return name(item) == wanted }) {
			missing = append(missing, wanted)
		}
	}
	slices.Sort(missing)
	return missing
}
