package webhooks

import (
	"cmp"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

const (
	// KindValidating and KindMutating are the kinds of configurations.
	KindValidating = "ValidatingWebhookConfiguration"
	KindMutating   = "MutatingWebhookConfiguration"
)

// Configuration is a view of a webhook configuration of either kind. What is changed through it is changed in the
// object behind it.
type Configuration struct {
	// Kind is KindValidating or KindMutating.
	Kind string
	// Webhooks are its webhooks, in order.
	Webhooks []Webhook

	meta *metav1.ObjectMeta
}

// Webhook is a view of one webhook of a configuration.
type Webhook struct {
	// Name is its name; an API server accepts no two of the same name in a configuration.
	Name string

	rules                             []admissionregistrationv1.RuleWithOperations
	objectSelector, namespaceSelector **metav1.LabelSelector
	failurePolicy                     **admissionregistrationv1.FailurePolicyType
	timeoutSeconds                    **int32
}

// Validating views a ValidatingWebhookConfiguration.
func Validating(c *admissionregistrationv1.ValidatingWebhookConfiguration) Configuration {
	view := Configuration{Kind: KindValidating, meta: &c.ObjectMeta}
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		view.Webhooks = append(view.Webhooks, Webhook{
			Name: w.Name, rules: w.Rules, objectSelector: &w.ObjectSelector, namespaceSelector: &w.NamespaceSelector,
			failurePolicy: &w.FailurePolicy, timeoutSeconds: &w.TimeoutSeconds,
		})
	}
	return view
}

// Mutating views a MutatingWebhookConfiguration.
func Mutating(c *admissionregistrationv1.MutatingWebhookConfiguration) Configuration {
	view := Configuration{Kind: KindMutating, meta: &c.ObjectMeta}
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		view.Webhooks = append(view.Webhooks, Webhook{
			Name: w.Name, rules: w.Rules, objectSelector: &w.ObjectSelector, namespaceSelector: &w.NamespaceSelector,
			failurePolicy: &w.FailurePolicy, timeoutSeconds: &w.TimeoutSeconds,
		})
	}
	return view
}

// Name is the configuration's name.
func (c Configuration) Name() string { return c.meta.Name }

// Remediated is whether the configuration bears the warning of an earlier remediation.
func (c Configuration) Remediated() bool { return c.meta.Annotations[constants.GardenerWarning] != "" }

// Sort brings configurations into the order in which they are judged: validating ones first, then by name.
func Sort(configurations []Configuration) {
	slices.SortStableFunc(configurations, func(a, b Configuration) int {
		// "V…" before "M…"
		return cmp.Or(cmp.Compare(b.Kind, a.Kind), cmp.Compare(a.Name(), b.Name()))
	})
}

const (
	managedByGardener = "gardener"
	// resourceManager is the value of the label app on the resource manager's own webhooks.
	resourceManager = "gardener-resource-manager"
)

// Exempt is the label by which a configuration does not count for the constraints
// (docs/specification/care.md#spec-5-5), as the landscape's own do not; "" if it counts.
func (c Configuration) Exempt() string {
	return c.labelled(constants.LabelApp, resourceManager, resourcesv1alpha1.ManagedBy, managedByGardener)
}

// Excluded is the label that keeps a configuration from being changed (docs/specification/care.md#spec-5-7); "" if it
// may be. Other than for the constraints the label app makes no difference.
func (c Configuration) Excluded() string {
	return c.labelled(constants.ExcludeWebhookFromRemediation, constants.LabelTrue,
		resourcesv1alpha1.ManagedBy, managedByGardener)
}

// labelled is the first of these labels, keys and values in turn, that the configuration has.
func (c Configuration) labelled(labels ...string) string {
	for i := 0; i < len(labels); i += 2 {
		if c.meta.Labels[labels[i]] == labels[i+1] {
			return labels[i] + "=" + labels[i+1]
		}
	}
	return ""
}
