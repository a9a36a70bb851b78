package secrets

import (
	"crypto/x509"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
	testingclock "k8s.io/utils/clock/testing"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// leavesOf are the certificates of all Secrets that are no CA's, by Secret and key.
func leavesOf(t *testing.T, o *Secrets) map[string]*x509.Certificate {
	t.Helper()
	leaves := map[string]*x509.Certificate{}
	for name, secret := range controlplanetest.SecretsOf(t, o.Scope) {
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
	simulated, real := func(*gardencorev1beta1.Shoot) {}, func(shoot *gardencorev1beta1.Shoot) {
		shoot.Annotations = map[string]string{"transplant.dev/nodes": "real"}
		shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "pool"}}
	}
	for days, renewed := range map[time.Duration]bool{0: false, 100: false, 182: false, 183: true, 364: true, 366: true} {
		renewedAtHalf(t, days, renewed, 12, simulated)
		renewedAtHalf(t, days, renewed, 16, real)
	}
}

func renewedAtHalf(t *testing.T, days time.Duration, renewed bool, certificates int,
	change func(*gardencorev1beta1.Shoot)) {
	t.Helper()
	o := withSecrets(t, new(error), change)
	clock := o.Clock.(*testingclock.FakeClock)
	before, leaves := controlplanetest.SecretsOf(t, o.Scope), leavesOf(t, o)
	if len(leaves) != certificates {
		t.Fatalf("the certificates are %v", slices.Sorted(maps.Keys(leaves)))
	}
	clock.Step(days * 24 * time.Hour)
	if err := o.Initialize(t.Context()); err != nil {
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
	for name, now := range controlplanetest.SecretsOf(t, o.Scope) {
		if _, leaf := now.Data[KeyCert]; !leaf && !cmp.Equal(before[name], now) {
			t.Errorf("after %d days %s is another", days, name)
		}
		if before[name].Labels["persist"] != now.Labels["persist"] {
			t.Errorf("after %d days %s has other labels: %v", days, name, now.Labels)
		}
	}
}

// A client reads the files again that its kubeconfig names. What the kubeconfig has in itself, it would never see
// renewed.
func TestClientSecret_Kubeconfig_NamesFilesBesideIt(t *testing.T) {
	t.Parallel()
	secrets := controlplanetest.SecretsOf(t, withSecrets(t, new(error)).Scope)
	for _, name := range []string{
		ControllerManager, Scheduler, MachineController, ResourceManager,
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
