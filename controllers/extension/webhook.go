package extension

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	applyadmissionregistrationv1 "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

const (
	// webhookName is the name of the seed's MutatingWebhookConfiguration.
	webhookName = "provider-" + Type
	pathMirrors = "/mirrors"
	webhookPort = 10443
	// namespacesWithExtension is the label of namespaces of shoots that have an Extension of this type.
	namespacesWithExtension = "extensions.extensions.gardener.cloud/" + Type

	webhookRetry = time.Second
)

// Webhook is the server by which the seed's API server asks the provider about objects as they are written. It is asked
// about shoots alone that have an Extension of this type. The certificate is made when the process starts and dies with
// it.
type Webhook struct {
	// Host is the address of the pod.
	Host string
	// Port is that of the server, 10443 if it is 0.
	Port  int
	Seed  client.Client // reads from the API server
	Clock clock.WithTicker

	bundle  []byte
	serving func() error
}

// AddToManager adds the server, and what registers it with the seed.
func (w *Webhook) AddToManager(mgr manager.Manager) error {
	if w.Port == 0 {
		w.Port = webhookPort
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKey(w.Host, []net.IP{net.ParseIP(w.Host)}, nil)
	if err != nil {
		return fmt.Errorf("make the certificate of the webhook server: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return fmt.Errorf("make the certificate of the webhook server: %w", err)
	}
	w.bundle = certificate
	server := webhook.NewServer(webhook.Options{Host: w.Host, Port: w.Port,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.MinVersion = tls.VersionTLS12
			c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
		}}})
	server.Register(pathMirrors, &admission.Webhook{Handler: &mirrors{seed: w.Seed}})
	w.serving = func() error { return server.StartedChecker()(nil) }
	for _, runnable := range []manager.Runnable{server, manager.RunnableFunc(w.register)} {
		if err := mgr.Add(runnable); err != nil {
			return fmt.Errorf("add the webhook server: %w", err)
		}
	}
	return nil
}

// register tells the seed where the server is, once it serves. Until it has succeeded the process before this one is
// asked, and what needs an answer is refused.
func (w *Webhook) register(ctx context.Context) error {
	ticker := w.Clock.NewTicker(webhookRetry)
	defer ticker.Stop()
	for {
		err := w.serving()
		if err == nil {
			err = w.Seed.Apply(ctx, w.configuration(), client.FieldOwner(webhookName), client.ForceOwnership)
		}
		if err == nil {
			return nil
		}
		log.FromContext(ctx).V(1).Info("The webhook server is not registered yet", "reason", err.Error())
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

func (w *Webhook) configuration() *applyadmissionregistrationv1.MutatingWebhookConfigurationApplyConfiguration {
	url := "https://" + net.JoinHostPort(w.Host, strconv.Itoa(w.Port)) + pathMirrors
	return applyadmissionregistrationv1.MutatingWebhookConfiguration(webhookName).WithWebhooks(
		applyadmissionregistrationv1.MutatingWebhook().
			WithName("mirrors." + Type + ".extensions.gardener.cloud").
			WithAdmissionReviewVersions("v1").
			WithClientConfig(applyadmissionregistrationv1.WebhookClientConfig().WithURL(url).WithCABundle(w.bundle...)).
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
