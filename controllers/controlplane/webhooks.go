package controlplane

import (
	"context"
	"errors"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
)

// webhookCodes gives ERR_PROBLEMATIC_WEBHOOK to the errors of requests that a webhook has failed
// (docs/specification/care.md#spec-5-8).
type webhookCodes struct{ client.Client }

var _ client.Client = webhookCodes{}

// WithWebhookCodes is for clients of shoots alone: their webhooks are their users'. Those of seeds and of the garden
// are not, and no user could do anything about them.
func WithWebhookCodes(shoot client.Client) client.Client { return webhookCodes{shoot} }

// Get implements client.Client. A webhook that converts fails reads as well.
func (c webhookCodes) Get(
	ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption,
) error {
	return failedByWebhook(c.Client.Get(ctx, key, object, options...))
}

// List implements client.Client.
func (c webhookCodes) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return failedByWebhook(c.Client.List(ctx, list, options...))
}

// Create implements client.Client.
func (c webhookCodes) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	return failedByWebhook(c.Client.Create(ctx, object, options...))
}

// Update implements client.Client.
func (c webhookCodes) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	return failedByWebhook(c.Client.Update(ctx, object, options...))
}

// Patch implements client.Client.
func (c webhookCodes) Patch(
	ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption,
) error {
	return failedByWebhook(c.Client.Patch(ctx, object, patch, options...))
}

// Delete implements client.Client.
func (c webhookCodes) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return failedByWebhook(c.Client.Delete(ctx, object, options...))
}

// DeleteAllOf implements client.Client.
func (c webhookCodes) DeleteAllOf(ctx context.Context, object client.Object,
	options ...client.DeleteAllOfOption) error {
	return failedByWebhook(c.Client.DeleteAllOf(ctx, object, options...))
}

func failedByWebhook(err error) error {
	if err == nil || !slices.Contains(errorcodes.Classify(err.Error()), gardencorev1beta1.ErrorProblematicWebhook) {
		return err
	}
	return problematicWebhook(err.Error(), err)
}

func problematicWebhook(message string, cause error) error {
	return &CodedError{
		Message: message, Cause: cause, Codes: []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorProblematicWebhook},
	}
}

// reasonProblematicWebhooks is the reason by which care says that webhooks of a shoot are problematic. Those that were
// remediated stand in nobody's way.
const reasonProblematicWebhooks = "ProblematicWebhooks"

// blameWebhooks is for waits until nodes are ready. A webhook can keep nodes from joining
// (docs/specification/care.md#spec-5-5), and only the nodes see that. So a wait that is over time has this cause if
// care has found such a webhook, a machine has no ready node, and the error has no code. Without such a machine the
// cause is another, such as a disruption budget.
func (o *Operation) blameWebhooks(ctx context.Context, err error) error {
	if _, late := errors.AsType[*TimeoutError](err); !late || len(codes(err)) > 0 {
		return err
	}
	shoot, machines := &gardencorev1beta1.Shoot{}, &machinev1alpha1.MachineList{}
	if o.Garden.Get(ctx, client.ObjectKeyFromObject(o.Shoot), shoot) != nil ||
		o.Seed.List(ctx, machines, client.InNamespace(o.Namespace())) != nil {
		return err // it says what failed, if not why
	}
	if !slices.ContainsFunc(machines.Items, lacksNode) {
		return err
	}
	for _, constraint := range shoot.Status.Constraints {
		if constraint.Type == gardencorev1beta1.ShootMaintenancePreconditionsSatisfied &&
			constraint.Status == gardencorev1beta1.ConditionFalse && constraint.Reason == reasonProblematicWebhooks {
			return problematicWebhook(err.Error()+"; "+constraint.Message, err)
		}
	}
	return err
}

// lacksNode is whether a machine that the cloud has made, and that is to stay, is no ready node.
func lacksNode(m machinev1alpha1.Machine) bool {
	switch m.Status.CurrentStatus.Phase {
	case machinev1alpha1.MachinePending, machinev1alpha1.MachineUnknown, machinev1alpha1.MachineFailed:
		return m.DeletionTimestamp == nil && m.Status.LastOperation.ErrorCode == ""
	}
	return false
}
