package secrets

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// withSecrets is an operation whose secrets have been made, and whose patches of SSH key pairs end as fails says.
func withSecrets(t *testing.T, fails *error, change ...func(*gardencorev1beta1.Shoot)) *Secrets {
	t.Helper()
	service := func(name string) *corev1.Service {
		s := &corev1.Service{}
		s.Namespace, s.Name, s.Spec.ClusterIP = "shoot--p--alpha", name, "10.0.0.1"
		return s
	}
	o := &Secrets{Scope: controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{
		Patch: func(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch,
			options ...client.PatchOption) error {
			if object.GetName() == SSHKeyPair && *fails != nil {
				return *fails
			}
			return inner.Patch(ctx, object, patch, options...)
		},
	}, service(workload.ServiceEtcdClient), service(workload.ServiceKubeAPIServer), service(workload.VPNSeedServer))}
	for _, change := range change {
		change(o.Shoot)
	}
	o.Clock = testingclock.NewFakeClock(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	o.Running = gardencorev1beta1.LastOperationTypeReconcile
	if err := o.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o
}

// A rotation that is under way makes the key pair anew, once, and keeps the old one; all other secrets stay.
func TestRotation_SSHKeypair_IsMadeAnewAndOldOneKept(t *testing.T) {
	t.Parallel()
	var fails error
	o := withSecrets(t, &fails)
	first := controlplanetest.SecretsOf(t, o.Scope)
	rotate := func(initiated, completed int64) map[string]corev1.Secret {
		t.Helper()
		o.Shoot.Status.Credentials = controlplanetest.SSHRotated(initiated, completed)
		if err := o.Initialize(t.Context()); err != nil {
			t.Fatal(err)
		}
		return controlplanetest.SecretsOf(t, o.Scope)
	}
	second := rotate(100, 0)
	if cmp.Equal(first[SSHKeyPair].Data, second[SSHKeyPair].Data) {
		t.Error("the key pair is the same as before")
	}
	if diff := cmp.Diff(first[SSHKeyPair].Data, second["ssh-keypair.old"].Data); diff != "" {
		t.Errorf("the old one (-want +got):\n%s", diff)
	}
	for _, name := range []string{SSHKeyPair, "ssh-keypair.old"} {
		if second[name].Labels["persist"] != "true" {
			t.Errorf("%s does not move with the shoot: %v", name, second[name].Labels)
		}
	}
	if label := second[SSHKeyPair].Labels["last-rotation-initiation-time"]; label != "100" {
		t.Errorf("it was rotated at %q", label)
	}
	for name, secret := range first {
		if name != SSHKeyPair && !cmp.Equal(secret.Data, second[name].Data) {
			t.Errorf("%s has changed", name)
		}
	}
	for name, times := range map[string][2]int64{"the run is repeated": {100, 0}, "it is complete": {100, 110}} {
		if diff := cmp.Diff(second, rotate(times[0], times[1])); diff != "" {
			t.Errorf("%s, and something has changed:\n%s", name, diff)
		}
	}
	third := rotate(200, 110)
	if !cmp.Equal(third["ssh-keypair.old"].Data, second[SSHKeyPair].Data) ||
		cmp.Equal(third[SSHKeyPair].Data,
			second[SSHKeyPair].Data) {
		t.Error("the next rotation does not put the key pair of the last one in the place of the old one")
	}
}

// A gardenlet that dies between the two writes loses no key pair, and the next run rotates.
func TestRotation_CrashBetweenWrites_KeepsOldKeypair(t *testing.T) {
	t.Parallel()
	var fails error
	o := withSecrets(t, &fails)
	first := controlplanetest.SecretsOf(t, o.Scope)[SSHKeyPair].Data
	o.Shoot.Status.Credentials = controlplanetest.SSHRotated(100, 0)
	fails = errors.New("the gardenlet ends")
	if err := o.Initialize(t.Context()); !errors.Is(err, fails) {
		t.Fatalf("it ends with %v", err)
	}
	if now := controlplanetest.SecretsOf(t, o.Scope); !cmp.Equal(first, now[SSHKeyPair].Data) {
		t.Fatal("the key pair has changed")
	}
	fails = nil
	if err := o.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := controlplanetest.SecretsOf(t, o.Scope); !cmp.Equal(first, now["ssh-keypair.old"].Data) || cmp.Equal(first,
		now[SSHKeyPair].Data) {
		t.Error("the old key pair is lost, or not rotated")
	}
}

// A shoot that moves keeps its credentials, also with a rotation that is not complete.
func TestRotation_Restore_KeepsKeypair(t *testing.T) {
	t.Parallel()
	var fails error
	o := withSecrets(t, &fails)
	first := controlplanetest.SecretsOf(t, o.Scope)
	o.Running, o.Shoot.Status.Credentials = gardencorev1beta1.LastOperationTypeRestore, controlplanetest.SSHRotated(100, 0)
	if err := o.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, controlplanetest.SecretsOf(t, o.Scope)); diff != "" {
		t.Errorf("the restoration has changed secrets:\n%s", diff)
	}
}
