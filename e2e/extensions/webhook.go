package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/transplant-sim/transplant/api/pki"
)

// webhookPort is that of the server, at the address of the pod.
const webhookPort = 9443

// serveWebhook has the seed's API server ask this process, by its address, about what the rules select in namespaces
// with a label. The authority and the certificate are made anew at each start, and whoever starts registers them.
func (p *program) serveWebhook(handler *webhook.Admission, namespaceLabel string,
	rules ...admissionregistrationv1.RuleWithOperations) error {
	authority, certificate, err := p.writeCertificate()
	if err != nil {
		return err
	}
	server := webhook.NewServer(webhook.Options{Host: p.address, Port: webhookPort, CertDir: certificate,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.MinVersion = tls.VersionTLS12 }}})
	server.Register("/mutate", handler)
	if err := p.manager.Add(server); err != nil {
		return fmt.Errorf("add the webhook server: %w", err)
	}
	return p.manager.Add(registration{func(ctx context.Context) error {
		config := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: p.class}}
		if _, err := controllerutil.CreateOrPatch(ctx, p.Client, config, func() error {
			config.Webhooks = []admissionregistrationv1.MutatingWebhook{{
				Name: p.class + ".example.org", AdmissionReviewVersions: []string{"v1"}, Rules: rules,
				ClientConfig: admissionregistrationv1.WebhookClientConfig{
					URL: ptr.To(fmt.Sprintf("https://%s:%d/mutate", p.address, webhookPort)), CABundle: authority},
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{namespaceLabel: "true"}},
				FailurePolicy:     ptr.To(admissionregistrationv1.Fail),
				SideEffects:       ptr.To(admissionregistrationv1.SideEffectClassNone),
				TimeoutSeconds:    ptr.To[int32](5),
			}}
			return nil
		}); err != nil {
			return fmt.Errorf("register the webhook: %w", err)
		}
		return nil
	}})
}

// registration runs in every process, also in one that does not lead: each serves the webhook.
type registration struct{ manager.RunnableFunc }

// NeedLeaderElection says no.
func (registration) NeedLeaderElection() bool { return false }

// writeCertificate makes an authority, and in a folder a certificate of it for the address of the pod.
func (p *program) writeCertificate() (authority []byte, folder string, err error) {
	authority, key, err := pki.NewAuthorityPEM(pki.Request{Name: "ca-" + p.class}, p.clock.Now())
	if err != nil {
		return nil, "", fmt.Errorf("make the webhook's authority: %w", err)
	}
	certificate, certificateKey, err := pki.IssuePEM(authority, key, pki.Request{Name: p.class,
		Hosts: []string{p.address}, Valid: 365 * 24 * time.Hour, ServerOnly: true}, p.clock.Now())
	if err != nil {
		return nil, "", fmt.Errorf("make the webhook's certificate: %w", err)
	}
	if folder, err = os.MkdirTemp("", p.class); err != nil {
		return nil, "", fmt.Errorf("make the folder of the webhook's certificate: %w", err)
	}
	for name, content := range map[string][]byte{"tls.crt": certificate, "tls.key": certificateKey} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return nil, "", fmt.Errorf("write the webhook's certificate: %w", err)
		}
	}
	return authority, folder, nil
}
