package operatingsystem

import (
	"cmp"
	"crypto/tls"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	applyadmissionregistrationv1 "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

const (
	// WebhookName is the name of the seed's MutatingWebhookConfiguration, and of the Service in front of the server.
	WebhookName = "provider-" + reference.Type
	pathMirrors = "/mirrors"
	// webhookPort is that of the server, and of its Service.
	webhookPort = 10443
	// namespacesWithExtension is the label of namespaces of shoots that have an Extension of this type.
	namespacesWithExtension = "extensions.extensions.gardener.cloud/" + reference.Type
)

// Webhook is the server by which the seed's API server asks the provider about objects as they are written. It is asked
// about shoots alone that have an Extension of this type. Who sets up the seed registers it: with a configuration of
// its own, an extension could see, and change, whatever is written there.
type Webhook struct {
	// Host is the address of the pod.
	Host string
	// Port is that of the server, 10443 if it is 0.
	Port int
	// CertDir has the server's certificate and key, tls.crt and tls.key.
	CertDir string
	Seed    client.Reader // reads from the API server
}

// AddToManager adds the server.
func (w *Webhook) AddToManager(mgr manager.Manager) error {
	server := webhook.NewServer(webhook.Options{Host: w.Host, Port: cmp.Or(w.Port, webhookPort), CertDir: w.CertDir,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.MinVersion = tls.VersionTLS12 }}})
	server.Register(pathMirrors, &admission.Webhook{Handler: &mirrors{seed: w.Seed}})
	if err := mgr.Add(server); err != nil {
		return fmt.Errorf("add the webhook server: %w", err)
	}
	return nil
}

// WebhookConfiguration registers the server behind the Service of this name with a seed. Its certificate is for the
// Service's name, WebhookName.namespace.svc, and the authorities of the bundle vouch for it. While nobody serves, what
// needs an answer is refused.
func WebhookConfiguration(namespace string,
	bundle []byte) *applyadmissionregistrationv1.MutatingWebhookConfigurationApplyConfiguration {
	service := applyadmissionregistrationv1.ServiceReference().WithNamespace(namespace).WithName(WebhookName).
		WithPath(pathMirrors).WithPort(webhookPort)
	return applyadmissionregistrationv1.MutatingWebhookConfiguration(WebhookName).WithWebhooks(
		applyadmissionregistrationv1.MutatingWebhook().
			WithName("mirrors." + reference.Type + ".extensions.gardener.cloud").
			WithAdmissionReviewVersions("v1").
			WithClientConfig(applyadmissionregistrationv1.WebhookClientConfig().WithService(service).
				WithCABundle(bundle...)).
			WithNamespaceSelector(applymetav1.LabelSelector().WithMatchLabels(
				map[string]string{namespacesWithExtension: constants.LabelTrue})).
			WithRules(applyadmissionregistrationv1.RuleWithOperations().
				WithOperations(admissionregistrationv1.Create, admissionregistrationv1.Update).
				WithAPIGroups(extensionsv1alpha1.SchemeGroupVersion.Group).
				WithAPIVersions(extensionsv1alpha1.SchemeGroupVersion.Version).
				WithResources("operatingsystemconfigs").
				WithScope(admissionregistrationv1.NamespacedScope)).
			WithFailurePolicy(admissionregistrationv1.Fail).
			WithSideEffects(admissionregistrationv1.SideEffectClassNone).
			WithTimeoutSeconds(5),
	)
}
