package health

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/care/webhooks"
)

// minimumAuthorityValidity is how long certificate authorities must be valid still, or they are to be rotated.
const minimumAuthorityValidity = 365 * 24 * time.Hour

const (
	constraintNotChecked = "ConstraintNotChecked"

	dataKeyAuthority, dataKeyAuthorityKey = "ca.crt", "ca.key"
)

// constraintTypes are the constraints that care writes. The first two are always there, the others only while they are
// not True.
var constraintTypes = []gardencorev1beta1.ConditionType{
	gardencorev1beta1.ShootHibernationPossible,
	gardencorev1beta1.ShootMaintenancePreconditionsSatisfied,
	gardencorev1beta1.ShootCACertificateValiditiesAcceptable,
	gardencorev1beta1.ShootCRDsWithProblematicConversionWebhooks,
	gardencorev1beta1.ShootManualInPlaceWorkersUpdated,
	gardencorev1beta1.ShootManagedResourcesHonored,
	gardencorev1beta1.ShootPreservedFailedMachinesAbsent,
}

// ConstraintTypes are the constraints that care writes. The list is the caller's own.
func ConstraintTypes() []gardencorev1beta1.ConditionType { return slices.Clone(constraintTypes) }

// Constraints are the shoot's constraints after a look at it; those that are not care's stay as they are, among them
// ReadyForMigration.
func Constraints(o *Observation, config Config, now time.Time) []gardencorev1beta1.Condition {
	r := newRound(o, config, now)
	var mine []gardencorev1beta1.Condition
	for i, kind := range constraintTypes {
		found := r.constraint(kind)
		always := i < 2
		if found != nil && (always || found.Status != gardencorev1beta1.ConditionTrue) {
			mine = append(mine, r.constrain(r.find(o.Shoot.Status.Constraints, kind), *found))
		}
	}
	return merge(o.Shoot.Status.Constraints, mine, constraintTypes)
}

// constraint is what is found about a constraint; nil is nothing.
func (r round) constraint(kind gardencorev1beta1.ConditionType) *finding {
	switch {
	case r.Err != nil:
		return unseen(r.Err.Error())
	case Hibernated(r.Shoot) && kind != gardencorev1beta1.ShootManagedResourcesHonored:
		return satisfied(constraintNotChecked, hibernatedMessage)
	}
	switch kind {
	case gardencorev1beta1.ShootHibernationPossible, gardencorev1beta1.ShootMaintenancePreconditionsSatisfied:
		return r.webhooks()
	case gardencorev1beta1.ShootCACertificateValiditiesAcceptable:
		return r.authorities()
	case gardencorev1beta1.ShootCRDsWithProblematicConversionWebhooks:
		return r.conversions()
	case gardencorev1beta1.ShootManualInPlaceWorkersUpdated:
		return r.inPlaceUpdates()
	case gardencorev1beta1.ShootManagedResourcesHonored:
		return r.ignoredManagedResources()
	default:
		return r.preservedMachines()
	}
}

func satisfied(reason, message string) *finding {
	return &finding{Status: gardencorev1beta1.ConditionTrue, Reason: reason, Message: message}
}

// webhooks is the constraint that is the same for hibernation and maintenance.
func (r round) webhooks() *finding {
	switch {
	case r.APIServer == nil:
		return failure(constraintNotChecked, "Shoot control plane is not running at the moment.")
	case r.APIServer.ClientErr != nil:
		return unseen(fmt.Sprintf("Could not initialize a client for the shoot: %v", r.APIServer.ClientErr))
	case r.Cluster.Validating.Err != nil:
		return unseen(fmt.Sprintf("Could not list the ValidatingWebhookConfigurations: %v", r.Cluster.Validating.Err))
	case r.Cluster.Mutating.Err != nil:
		return unseen(fmt.Sprintf("Could not list the MutatingWebhookConfigurations: %v", r.Cluster.Mutating.Err))
	}
	var configurations []webhooks.Configuration
	for i := range r.Cluster.Validating.Items {
		configurations = append(configurations, webhooks.Validating(&r.Cluster.Validating.Items[i]))
	}
	for i := range r.Cluster.Mutating.Items {
		configurations = append(configurations, webhooks.Mutating(&r.Cluster.Mutating.Items[i]))
	}
	verdict := webhooks.Judge(configurations)
	return &finding{Status: verdict.Status, Reason: verdict.Reason, Message: verdict.Message, Codes: verdict.Codes}
}

// authorities looks for certificate authorities that are to be rotated.
func (r round) authorities() *finding {
	if r.Authorities.Err != nil {
		return unseen(fmt.Sprintf("Could not list the certificate authorities: %v", r.Authorities.Err))
	}
	var expiring []string
	for _, s := range sortedByName(r.Authorities.Items, func(s *corev1.Secret) string { return s.Name }) {
		if s.Labels[constants.Persist] != constants.LabelTrue || s.Data[dataKeyAuthority] == nil ||
			s.Data[dataKeyAuthorityKey] == nil {
			continue
		}
		seconds, err := strconv.ParseInt(s.Labels[constants.ValidUntilTime], 10, 64)
		if err != nil {
			return unseen(fmt.Sprintf("Could not read until when the certificate authority in secret %q is valid: label %s: %v",
				s.Name, constants.ValidUntilTime, err))
		}
		if until := time.Unix(seconds, 0).UTC(); until.Sub(r.Now) < minimumAuthorityValidity {
			name := cmp.Or(s.Labels[constants.SecretName], s.Name)
			expiring = append(expiring, fmt.Sprintf("%q (expiring at %s)", name, until.Format(time.RFC3339)))
		}
	}
	if len(expiring) > 0 {
		return failure("ExpiringCACertificates",
			"Some CA certificates are expiring in less than a year, you should rotate them: "+strings.Join(expiring, ", "))
	}
	return satisfied("NoExpiringCACertificates", "All CA certificates are still valid for at least a year.")
}

// conversions looks for CustomResourceDefinitions whose stored objects need a webhook to be read.
func (r round) conversions() *finding {
	if r.APIServer == nil || r.APIServer.ClientErr != nil {
		return nil
	}
	if r.Cluster.CRDs.Err != nil {
		return unseen(fmt.Sprintf("Could not list the CustomResourceDefinitions: %v", r.Cluster.CRDs.Err))
	}
	var names []string
	for _, crd := range r.Cluster.CRDs.Items {
		if len(crd.Status.StoredVersions) > 1 && crd.Spec.Conversion != nil &&
			crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter {
			names = append(names, crd.Name)
		}
	}
	if len(names) == 0 {
		return satisfied("NoCRDsWithProblematicConversionWebhooks",
			"No CRDs have multiple stored versions and a conversion webhook.")
	}
	slices.Sort(names)
	return failure("CRDsWithProblematicConversionWebhooks",
		"Some CRDs have multiple stored versions and a conversion webhook: "+strings.Join(names, ", "))
}

func (r round) inPlaceUpdates() *finding {
	updates := r.Shoot.Status.InPlaceUpdates
	if updates == nil || updates.PendingWorkerUpdates == nil ||
		len(updates.PendingWorkerUpdates.ManualInPlaceUpdate) == 0 {
		return satisfied("NoWorkerPoolsWithManualInPlaceUpdateStrategyPending",
			"No worker pools with manual in-place update strategy are pending.")
	}
	pools := slices.Sorted(slices.Values(updates.PendingWorkerUpdates.ManualInPlaceUpdate))
	return failure("WorkerPoolsWithManualInPlaceUpdateStrategyPending",
		"Worker pools with update strategy ManualInPlaceUpdate wait to be updated: "+strings.Join(pools, ", "))
}

func (r round) ignoredManagedResources() *finding {
	if r.ManagedResources.Err != nil {
		return unseen(fmt.Sprintf("Could not list the ManagedResources: %v", r.ManagedResources.Err))
	}
	var names []string
	for _, m := range sortedByName(r.ManagedResources.Items, func(m *resourcesv1alpha1.ManagedResource) string {
		return m.Name
	}) {
		if m.Annotations[resourcesv1alpha1.Ignore] == constants.LabelTrue {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return satisfied("NoManagedResourcesIgnored", "No ManagedResources are ignored.")
	}
	return failure("ManagedResourcesIgnored", "ManagedResources are ignored and so not kept up to date: "+
		strings.Join(names, ", "))
}

func (r round) preservedMachines() *finding {
	if r.Machines.Err != nil {
		return unseen(fmt.Sprintf("Could not list the machines: %v", r.Machines.Err))
	}
	count := 0
	for _, m := range r.Machines.Items {
		if keptForInspection(&m) {
			count++
		}
	}
	if count == 0 {
		return satisfied("NoFailedMachinesPreserved", "No failed machines are kept.")
	}
	return failure("FailedMachinesPreserved", fmt.Sprintf("Failed machines are kept for inspection: %d.", count))
}
