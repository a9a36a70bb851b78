package etcd

import (
	"crypto/x509"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	certutil "k8s.io/client-go/util/cert"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// withSecrets is an etcd whose secrets have been made.
func withSecrets(t *testing.T) *Etcd {
	t.Helper()
	service := func(name string) *corev1.Service {
		s := &corev1.Service{}
		s.Namespace, s.Name, s.Spec.ClusterIP = "shoot--p--alpha", name, "10.0.0.1"
		return s
	}
	o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{},
		service(workload.ServiceEtcdClient), service(workload.ServiceKubeAPIServer)))
	o.Clock = testingclock.NewFakeClock(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	if err := o.secrets.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o
}

// The gardenlet asks with a certificate that it issues itself, and the guard of a shoot that is reconciled no more is
// given one that can be checked.
func TestGuard_CredentialsAreMissingOrOld_AreMadeAnew(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(*testing.T, *Etcd){
		"as made": func(*testing.T, *Etcd) {},
		"the guard's has expired": func(_ *testing.T, o *Etcd) {
			o.Clock.(*testingclock.FakeClock).Step(400 * 24 * time.Hour)
		},
		"all are gone but the CA": func(t *testing.T, o *Etcd) {
			for _, secret := range controlplanetest.SecretsOf(t, o.Scope) {
				if secret.Name == secrets.CAEtcd {
					continue
				}
				if err := o.Seed.Delete(t.Context(), &secret); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := withSecrets(t)
			forget(t, o)
			guard, err := o.Guard(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if want := "https://10.0.0.1:2382"; guard.URL != want {
				t.Errorf("it is asked at %s, want %s", guard.URL, want)
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(controlplanetest.SecretsOf(t, o.Scope)[secrets.CAEtcd].Data["ca.crt"])
			for usage, content := range map[x509.ExtKeyUsage][]byte{
				x509.ExtKeyUsageClientAuth: guard.Credentials.Cert,
				x509.ExtKeyUsageServerAuth: controlplanetest.SecretsOf(t, o.Scope)[secrets.EtcdServer].Data["tls.crt"],
			} {
				certificates, err := certutil.ParseCertsPEM(content)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := certificates[0].Verify(x509.VerifyOptions{
					Roots: roots, CurrentTime: o.Clock.Now(), KeyUsages: []x509.ExtKeyUsage{usage},
				}); err != nil {
					t.Error(err)
				}
				want := map[x509.ExtKeyUsage]string{
					x509.ExtKeyUsageClientAuth: "gardenlet", x509.ExtKeyUsageServerAuth: "etcd-main",
				}[usage]
				if got := certificates[0].Subject.CommonName; got != want {
					t.Errorf("it is %q, want %q", got, want)
				}
			}
			if _, err := guard.Credentials.Client(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Where nobody can be asked, the guard is gone. Where the gardenlet cannot ask, it is not.
func TestGuard_SomethingIsMissing_SaysWhich(t *testing.T) {
	t.Parallel()
	service, secret := &corev1.Service{}, &corev1.Secret{}
	service.Name, secret.Name = workload.ServiceEtcdClient, secrets.CAEtcd
	o := withSecrets(t)
	secret.Namespace, service.Namespace = o.Namespace(), o.Namespace()
	if err := o.Seed.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Guard(t.Context()); !apierrors.IsNotFound(err) || errors.Is(err, ErrNoGuard) {
		t.Errorf("without the CA: %v", err)
	}
	if err := o.Seed.Delete(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Guard(t.Context()); !errors.Is(err, ErrNoGuard) {
		t.Errorf("without the Service: %v", err)
	}
}
