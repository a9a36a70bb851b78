package shootaccess

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
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
	return ProblematicWebhook(err.Error(), err)
}

// ProblematicWebhook is the error of which a webhook of the shoot is the cause.
func ProblematicWebhook(message string, cause error) error {
	return &errorcodes.Error{
		Message: message, Cause: cause, Codes: []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorProblematicWebhook},
	}
}
