package health

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
)

// hibernatedMessage is the message of what is not checked on a shoot that sleeps.
const hibernatedMessage = "Shoot cluster has been hibernated."

// conditionTypes are the conditions that care writes, in the order of docs/specification/care.md#spec-5-2.
var conditionTypes = []gardencorev1beta1.ConditionType{
	gardencorev1beta1.ShootAPIServerAvailable,
	gardencorev1beta1.ShootControlPlaneHealthy,
	gardencorev1beta1.ShootObservabilityComponentsHealthy,
	gardencorev1beta1.ShootEveryNodeReady,
	gardencorev1beta1.ShootSystemComponentsHealthy,
}

// ConditionTypes are the conditions that care writes. The list is the caller's own.
func ConditionTypes() []gardencorev1beta1.ConditionType { return slices.Clone(conditionTypes) }

// IsWell reports whether every condition and constraint of a shoot that care writes is True, and was checked. A shoot
// that sleeps is not well.
func IsWell(shoot *gardencorev1beta1.Shoot) bool {
	owned := slices.Concat(only(shoot.Status.Conditions, conditionTypes), only(shoot.Status.Constraints, constraintTypes))
	return len(owned) > 0 && !Hibernated(shoot) && !slices.ContainsFunc(owned, func(c gardencorev1beta1.Condition) bool {
		return c.Status != gardencorev1beta1.ConditionTrue
	})
}

// round is one look at a shoot.
type round struct {
	*Observation
	Config
	transitions
}

func newRound(o *Observation, config Config, now time.Time) round {
	return round{Observation: o, Config: config, transitions: transitions{
		Now: now, Thresholds: config.Thresholds, LastOperation: o.Shoot.Status.LastOperation,
		LastErrors: o.Shoot.Status.LastErrors,
	}}
}

// Conditions are the shoot's conditions after a look at it; those that are not care's stay as they are. If nothing
// changes they equal the present ones, and need not be written.
func Conditions(o *Observation, config Config, now time.Time) []gardencorev1beta1.Condition {
	r := newRound(o, config, now)
	var mine []gardencorev1beta1.Condition
	for _, kind := range conditionTypes {
		if r.applies(kind) {
			mine = append(mine, r.condition(kind))
		}
	}
	return merge(o.Shoot.Status.Conditions, mine, conditionTypes)
}

// applies is whether a shoot has the condition: one without workers has no nodes, and where nothing says anything about
// observability there is nothing to be said.
func (r round) applies(kind gardencorev1beta1.ConditionType) bool {
	switch kind {
	case gardencorev1beta1.ShootEveryNodeReady:
		return !workerless(r.Shoot)
	case gardencorev1beta1.ShootObservabilityComponentsHealthy:
		return len(r.Components.Monitoring) > 0 ||
			slices.ContainsFunc(r.Extensions.Items, func(e ExtensionReport) bool { return e.Condition.Type == kind }) ||
			slices.ContainsFunc(r.ManagedResources.Items, func(m resourcesv1alpha1.ManagedResource) bool {
				return counts(&m, kind)
			})
	}
	return true
}

func (r round) condition(kind gardencorev1beta1.ConditionType) gardencorev1beta1.Condition {
	c := r.find(r.Shoot.Status.Conditions, kind)
	if r.Err != nil {
		return r.fail(c, *unseen(r.Err.Error()))
	}
	if Hibernated(r.Shoot) {
		return r.succeed(c, gardencorev1beta1.ConditionNotChecked, hibernatedMessage)
	}
	found, reason, message := r.check(kind)
	if found != nil {
		return r.fail(c, *found)
	}
	return r.succeed(c, reason, message)
}

// check looks at what a condition is about. The reason and message are for when nothing is amiss.
func (r round) check(kind gardencorev1beta1.ConditionType) (found *finding, reason, message string) {
	switch kind {
	case gardencorev1beta1.ShootAPIServerAvailable:
		return r.apiServer(), "HealthzRequestSucceeded", "API server /healthz endpoint responded with success status code."
	case gardencorev1beta1.ShootControlPlaneHealthy:
		return r.controlPlane(), "ControlPlaneRunning", "All control plane components are healthy."
	case gardencorev1beta1.ShootObservabilityComponentsHealthy:
		return r.observability(), "ObservabilityComponentsRunning", "All observability components are healthy."
	case gardencorev1beta1.ShootEveryNodeReady:
		return r.everyNode(), "EveryNodeReady", "All nodes are ready."
	default:
		return r.systemComponents(), "SystemComponentsRunning", "All system components are healthy."
	}
}

// Hibernated is whether a shoot sleeps, or is on the way there or back.
func Hibernated(shoot *gardencorev1beta1.Shoot) bool {
	return shoot.Status.IsHibernated || shoot.Spec.Hibernation != nil && ptr.Deref(shoot.Spec.Hibernation.Enabled, false)
}

func workerless(shoot *gardencorev1beta1.Shoot) bool { return len(shoot.Spec.Provider.Workers) == 0 }

func (r round) apiServer() *finding {
	a := r.APIServer
	switch {
	case a == nil:
		return failure("APIServerDown", r.notRunning())
	case a.ClientErr != nil:
		return failure("APIServerDown", fmt.Sprintf("Could not reach API server during client initialization: %v",
			a.ClientErr))
	case a.RequestErr != nil:
		return failure("HealthzRequestError", fmt.Sprintf("Request to API server /healthz endpoint failed: %v", a.RequestErr))
	case a.Code != http.StatusOK:
		return failure("HealthzRequestFailed", fmt.Sprintf("API server /healthz endpoint responded with status code %d: %s",
			a.Code, shorten(a.Body)))
	}
	return nil
}

// reachable is why nothing can be said of what is in the shoot; nil if it can.
func (r round) reachable() *finding {
	switch {
	case r.APIServer == nil:
		return unseen(r.notRunning())
	case r.APIServer.ClientErr != nil:
		return unseen(fmt.Sprintf("Could not initialize a client for the shoot: %v", r.APIServer.ClientErr))
	}
	return nil
}

func (r round) notRunning() string {
	last := r.Shoot.Status.LastOperation
	switch {
	case last == nil || last.Type == gardencorev1beta1.LastOperationTypeCreate:
		return "Shoot control plane has not been fully created yet."
	case last.Type == gardencorev1beta1.LastOperationTypeDelete:
		return "Shoot control plane has already been or is about to be deleted."
	}
	return "Shoot control plane is not running at the moment."
}

func shorten(text string) string {
	const most = 500
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}

func (r round) controlPlane() *finding {
	return first(
		r.extensions(gardencorev1beta1.ShootControlPlaneHealthy),
		r.etcds(),
		r.required(r.Deployments, "deployments", r.requiredDeployments()),
		scaledDown(r.Deployments.Items),
		r.managedResources(gardencorev1beta1.ShootControlPlaneHealthy),
	)
}

func (r round) requiredDeployments() []string {
	required := append([]string(nil), r.Components.Always...)
	if !workerless(r.Shoot) {
		required = append(required, r.Components.WithWorkers...)
	}
	if lifecycle.RealNodes(r.Shoot) {
		required = append(required, r.Components.WithRealNodes...)
	}
	return required
}

func (r round) observability() *finding {
	return first(
		r.extensions(gardencorev1beta1.ShootObservabilityComponentsHealthy),
		r.required(r.Monitoring, "monitoring deployments", r.Components.Monitoring),
		r.managedResources(gardencorev1beta1.ShootObservabilityComponentsHealthy),
	)
}

func (r round) systemComponents() *finding {
	if out := r.reachable(); out != nil {
		return out
	}
	return first(
		r.extensions(gardencorev1beta1.ShootSystemComponentsHealthy),
		r.managedResources(gardencorev1beta1.ShootSystemComponentsHealthy),
		r.workloads(),
		r.tunnel(),
	)
}
