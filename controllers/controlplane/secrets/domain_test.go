package secrets

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// A shoot that is given a domain after it was made gets a certificate that names it, of the same authority, once.
func TestTheCertificateNamesTheDomain(t *testing.T) {
	t.Parallel()
	service := func(name string) *corev1.Service {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: name}}
		s.Spec.ClusterIP = "10.0.0.1"
		return s
	}
	o := &Secrets{Scope: controlplanetest.Named(t, gardencorev1beta1.LastOperationTypeReconcile,
		service(workload.ServiceEtcdClient),
		service(workload.ServiceKubeAPIServer))}
	o.Clock = testingclock.NewFakeClock(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	made := func() (certificate string, names []string, others map[string]string) {
		t.Helper()
		if err := o.Initialize(t.Context()); err != nil {
			t.Fatal(err)
		}
		secrets := &corev1.SecretList{}
		if err := o.Seed.List(t.Context(), secrets, client.InNamespace("shoot--p--alpha")); err != nil {
			t.Fatal(err)
		}
		others = map[string]string{}
		for _, secret := range secrets.Items {
			if secret.Name != KubeAPIServer {
				others[secret.Name] = secret.ResourceVersion
				continue
			}
			if secret.Labels["persist"] != "true" {
				t.Error("the certificate does not move with the shoot")
			}
			certificate = string(secret.Data["tls.crt"])
			parsed, err := certutil.ParseCertsPEM(secret.Data["tls.crt"])
			if err != nil {
				t.Fatal(err)
			}
			authority, err := certutil.ParseCertsPEM(secret.Data["ca.crt"])
			if err != nil {
				t.Fatal(err)
			}
			if err := parsed[0].CheckSignatureFrom(authority[0]); err != nil {
				t.Error(err)
			}
			names = parsed[0].DNSNames
		}
		return certificate, names, others
	}
	first, names, others := made()
	if !slices.Contains(names, controlplanetest.InternalHost) || slices.Contains(names, controlplanetest.ExternalHost) {
		t.Errorf("without a domain it names %q", names)
	}
	controlplanetest.WithDomain(o.Shoot, "alpha.p.clusters.test")
	second, names, after := made()
	if second == first || !slices.Contains(names, controlplanetest.InternalHost) ||
		!slices.Contains(names, controlplanetest.ExternalHost) ||
		!slices.Contains(names, "kube-apiserver") {
		t.Errorf("with a domain it names %q", names)
	}
	if third, _, _ := made(); third != second {
		t.Error("it is made anew although it names the domain")
	}
	if diff := cmp.Diff(others, after); diff != "" {
		t.Errorf("others have changed (-before +after):\n%s", diff)
	}
}
