package controlplane

import (
	"crypto/x509"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
	testingclock "k8s.io/utils/clock/testing"
)

// leavesOf are the certificates of all Secrets that are no CA's, by Secret and key.
func leavesOf(t *testing.T, o *Operation) map[string]*x509.Certificate {
	t.Helper()
	leaves := map[string]*x509.Certificate{}
	for name, secret := range secretsOf(t, o) {
		for key, content := range secret.Data {
			certificates, err := certutil.ParseCertsPEM(content)
			if err == nil && !certificates[0].IsCA {
				leaves[name+" "+key] = certificates[0]
			}
		}
	}
	return leaves
}

// Whatever has an end is renewed long before it, and nothing else is.
func TestInitializeSecrets_CertificatesAge_AreRenewedAtHalfOfTheirValidity(t *testing.T) {
	t.Parallel()
	for days, renewed := range map[time.Duration]bool{0: false, 100: false, 182: false, 183: true, 364: true, 366: true} {
		o := withSecrets(t, new(error))
		clock := o.Clock.(*testingclock.FakeClock)
		before, leaves := secretsOf(t, o), leavesOf(t, o)
		if len(leaves) != 12 {
			t.Fatalf("the certificates are %v", slices.Sorted(maps.Keys(leaves)))
		}
		clock.Step(days * 24 * time.Hour)
		if err := o.InitializeSecrets(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, now := range leavesOf(t, o) {
			if now.Equal(leaves[name]) == renewed || now.NotAfter.Sub(clock.Now()) < 182*24*time.Hour {
				t.Errorf("after %d days %s is valid until %v, renewed: %t", days, name, now.NotAfter, !now.Equal(leaves[name]))
			}
			delete(leaves, name)
		}
		if len(leaves) > 0 {
			t.Errorf("gone after %d days: %v", days, leaves)
		}
		for name, now := range secretsOf(t, o) {
			if _, leaf := now.Data[keyCert]; !leaf && !cmp.Equal(before[name], now) {
				t.Errorf("after %d days %s is another", days, name)
			}
			if before[name].Labels["persist"] != now.Labels["persist"] {
				t.Errorf("after %d days %s has other labels: %v", days, name, now.Labels)
			}
		}
	}
}

// A client reads the files again that its kubeconfig names. What the kubeconfig has in itself, it would never see
// renewed.
func TestClientSecret_Kubeconfig_NamesFilesBesideIt(t *testing.T) {
	t.Parallel()
	secrets := secretsOf(t, withSecrets(t, new(error)))
	for _, name := range []string{
		secretControllerManager, secretScheduler, secretMachineController, secretResourceManager,
	} {
		mounted := t.TempDir()
		for key, content := range secrets[name].Data {
			if err := os.WriteFile(filepath.Join(mounted, key), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(mounted, "kubeconfig"))
		if err != nil {
			t.Fatal(err)
		}
		got := []string{config.CertFile, config.KeyFile, string(config.CertData), string(config.KeyData)}
		want := []string{filepath.Join(mounted, "tls.crt"), filepath.Join(mounted, "tls.key"), "", ""}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: files and data of certificate and key (-want +got):\n%s", name, diff)
		}
	}
}

// The gardenlet asks with a certificate that it issues itself, and the guard of a shoot that is reconciled no more is
// given one that can be checked.
func TestGuard_CredentialsAreMissingOrOld_AreMadeAnew(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(*testing.T, *Operation){
		"as made": func(*testing.T, *Operation) {},
		"the guard's has expired": func(_ *testing.T, o *Operation) {
			o.Clock.(*testingclock.FakeClock).Step(400 * 24 * time.Hour)
		},
		"all are gone but the CA": func(t *testing.T, o *Operation) {
			for _, secret := range secretsOf(t, o) {
				if secret.Name == SecretCAEtcd {
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
			o := withSecrets(t, new(error))
			forget(t, o)
			guard, err := o.Guard(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if want := "https://10.0.0.1:2382"; guard.URL != want {
				t.Errorf("it is asked at %s, want %s", guard.URL, want)
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(secretsOf(t, o)[SecretCAEtcd].Data["ca.crt"])
			for usage, content := range map[x509.ExtKeyUsage][]byte{
				x509.ExtKeyUsageClientAuth: guard.Credentials.Cert,
				x509.ExtKeyUsageServerAuth: secretsOf(t, o)[secretEtcdServer].Data["tls.crt"],
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
	service.Name, secret.Name = ServiceEtcdClient, SecretCAEtcd
	o := withSecrets(t, new(error))
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
