package webhooks

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// defaultTimeoutSeconds is how long an API server waits for a webhook that says nothing about it.
const defaultTimeoutSeconds = 10

// defaultServicePort is the port of a webhook's Service that names none.
const defaultServicePort = 443

// SetValidatingDefaults fills in what an API server does in an object of admissionregistration.k8s.io/v1. Doing it
// twice changes nothing.
func SetValidatingDefaults(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		setDefault(&w.FailurePolicy, admissionregistrationv1.Fail)
		setDefault(&w.MatchPolicy, admissionregistrationv1.Equivalent)
		setDefault(&w.NamespaceSelector, metav1.LabelSelector{})
		setDefault(&w.ObjectSelector, metav1.LabelSelector{})
		setDefault(&w.TimeoutSeconds, defaultTimeoutSeconds)
		setEndpointDefaults(&w.ClientConfig, w.Rules)
	}
}

// SetMutatingDefaults does the same for a MutatingWebhookConfiguration.
func SetMutatingDefaults(c *admissionregistrationv1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		setDefault(&w.FailurePolicy, admissionregistrationv1.Fail)
		setDefault(&w.MatchPolicy, admissionregistrationv1.Equivalent)
		setDefault(&w.NamespaceSelector, metav1.LabelSelector{})
		setDefault(&w.ObjectSelector, metav1.LabelSelector{})
		setDefault(&w.TimeoutSeconds, defaultTimeoutSeconds)
		setDefault(&w.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
		setEndpointDefaults(&w.ClientConfig, w.Rules)
	}
}

// setEndpointDefaults is for what both kinds share: who is called, and for what.
func setEndpointDefaults(
	c *admissionregistrationv1.WebhookClientConfig, rules []admissionregistrationv1.RuleWithOperations,
) {
	if c.Service != nil {
		setDefault(&c.Service.Port, defaultServicePort)
	}
	for i := range rules {
		setDefault(&rules[i].Scope, admissionregistrationv1.AllScopes)
	}
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = ptr.To(value)
	}
}
