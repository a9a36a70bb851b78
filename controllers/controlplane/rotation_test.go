package controlplane

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// sshStatus is the status of a shoot whose SSH key pair was rotated at these moments; 0 for never.
func sshStatus(initiated, completed int64) *gardencorev1beta1.ShootCredentials {
	at := func(seconds int64) *metav1.Time {
		if seconds == 0 {
			return nil
		}
		return ptr.To(metav1.NewTime(time.Unix(seconds, 0)))
	}
	return &gardencorev1beta1.ShootCredentials{Rotation: &gardencorev1beta1.ShootCredentialsRotation{
		SSHKeypair: &gardencorev1beta1.ShootSSHKeypairRotation{LastInitiationTime: at(initiated),
			LastCompletionTime: at(completed)},
	}}
}

// secondsOf are the times of the rotation; 0 for none.
func secondsOf(shoot *gardencorev1beta1.Shoot) [2]int64 {
	var seconds [2]int64
	if c := shoot.Status.Credentials; c != nil && c.Rotation != nil && c.Rotation.SSHKeypair != nil {
		for i, at := range []*metav1.Time{c.Rotation.SSHKeypair.LastInitiationTime,
			c.Rotation.SSHKeypair.LastCompletionTime} {
			if at != nil {
				seconds[i] = at.Unix()
			}
		}
	}
	return seconds
}

// A rotation is initiated by the run that takes its request off, and complete when a run with it has succeeded.
func TestRotation_Request_IsInitiatedAndCompleted(t *testing.T) {
	t.Parallel()
	const now = 1000 // what the clock of begun says
	errWork := errors.New("no")
	for name, c := range map[string]struct {
		operation    gardencorev1beta1.LastOperationType
		request      string
		noNodes      bool
		before       *gardencorev1beta1.ShootCredentials
		work         error
		left         string
		during, then [2]int64
		warnings     []string
	}{
		"asked for": {operation: "Reconcile", request: "rotate-ssh-keypair", during: [2]int64{now, 0},
			then: [2]int64{now, now}},
		"beside others": {operation: "Reconcile", request: "x;rotate-ssh-keypair;reconcile", left: "x",
			during: [2]int64{now, 0}, then: [2]int64{now, now}},
		"while it is created": {operation: "Create", request: "rotate-ssh-keypair", during: [2]int64{now, 0},
			then: [2]int64{now, now}},
		"again": {operation: "Reconcile", request: "rotate-ssh-keypair", before: sshStatus(10, 20),
			during: [2]int64{now, 20}, then: [2]int64{now, now}},
		"in the second of the last": {operation: "Reconcile", request: "rotate-ssh-keypair", before: sshStatus(10, now),
			during: [2]int64{now + 1, now}, then: [2]int64{now + 1, now + 1}},
		"by a clock that is behind": {operation: "Reconcile", request: "rotate-ssh-keypair", before: sshStatus(10, now+60),
			during: [2]int64{now + 61, now + 60}, then: [2]int64{now + 61, now + 61}},
		"under way already": {operation: "Reconcile", request: "rotate-ssh-keypair", before: sshStatus(30, 20),
			during: [2]int64{30, 20}, then: [2]int64{30, now}},
		"the run fails": {operation: "Reconcile", request: "rotate-ssh-keypair", work: errWork,
			during: [2]int64{now, 0}, then: [2]int64{now, 0}},
		"left over by a failed run": {operation: "Reconcile", before: sshStatus(30, 20), during: [2]int64{30, 20},
			then: [2]int64{30, now}},
		"nothing asked for": {operation: "Reconcile", before: sshStatus(10, 20), during: [2]int64{10, 20},
			then: [2]int64{10, 20}},
		"after maintenance": {operation: "Reconcile", request: "maintain;rotate-ssh-keypair",
			left: "maintain;rotate-ssh-keypair"},
		"after the move":        {operation: "Migrate", request: "rotate-ssh-keypair", left: "rotate-ssh-keypair"},
		"after the restoration": {operation: "Restore", request: "rotate-ssh-keypair", left: "rotate-ssh-keypair"},
		"no nodes": {operation: "Reconcile", request: "rotate-ssh-keypair", noNodes: true,
			warnings: []string{`"rotate-ssh-keypair" is not possible: the shoot has no nodes that can be reached by SSH`}},
		"another rotation": {operation: "Reconcile", request: "rotate-etcd-encryption-key",
			left: "rotate-etcd-encryption-key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := begun(t)
			shoot := inGarden(t, o)
			if !c.noNodes {
				threePools(shoot)
			}
			shoot.Annotations = map[string]string{"gardener.cloud/operation": c.request}
			if err := o.Garden.Update(t.Context(), shoot); err != nil {
				t.Fatal(err)
			}
			shoot.Status.UID, shoot.Status.Credentials = "u", c.before
			if err := o.Garden.Status().Update(t.Context(), shoot); err != nil {
				t.Fatal(err)
			}
			o.Shoot, o.WaitInterval = inGarden(t, o), time.Second
			var seen *gardencorev1beta1.Shoot
			flow := Flow{Type: c.operation, Work: func(context.Context, *Reporter) error {
				seen = inGarden(t, o)
				return c.work
			}}
			if c.operation == "Reconcile" || c.operation == "Create" {
				flow.Finish = func(status *gardencorev1beta1.ShootStatus) {
					RotationsCompleted(status, metav1.NewTime(o.Clock.Now()))
				}
			}
			events := &seenEvents{}
			runner := &Runner{Version: "v1", Events: events, Periods: Periods{Retry: time.Hour}}
			if _, err := runner.Run(t.Context(), o, flow); (err != nil) != (c.work != nil) {
				t.Fatal(err)
			}
			if c.work != nil {
				events.warnings = nil // those of the failure
			}
			if diff := cmp.Diff([]any{c.left, c.during, c.then, c.warnings}, []any{
				seen.Annotations["gardener.cloud/operation"], secondsOf(seen), secondsOf(inGarden(t, o)), events.warnings,
			}); diff != "" {
				t.Errorf("annotation, times in the run, times after it, warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// secretsOf are the data of all secrets of the control plane, by name.
func secretsOf(t *testing.T, o *Operation) map[string]corev1.Secret {
	t.Helper()
	list := &corev1.SecretList{}
	if err := o.Seed.List(t.Context(), list, client.InNamespace(o.Namespace())); err != nil {
		t.Fatal(err)
	}
	byName := map[string]corev1.Secret{}
	for _, secret := range list.Items {
		byName[secret.Name] = secret
	}
	return byName
}

// withSecrets is an operation whose secrets have been made, and whose patches of SSH key pairs end as fails says.
func withSecrets(t *testing.T, fails *error) *Operation {
	t.Helper()
	service := func(name string) *corev1.Service {
		s := &corev1.Service{}
		s.Namespace, s.Name, s.Spec.ClusterIP = "shoot--p--alpha", name, "10.0.0.1"
		return s
	}
	o := newOperation(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{
		Patch: func(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch,
			options ...client.PatchOption) error {
			if object.GetName() == SecretSSHKeyPair && *fails != nil {
				return *fails
			}
			return inner.Patch(ctx, object, patch, options...)
		},
	}, service(ServiceEtcdClient), service(ServiceKubeAPIServer))
	o.Clock = testingclock.NewFakeClock(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	o.running = gardencorev1beta1.LastOperationTypeReconcile
	if err := o.InitializeSecrets(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o
}

// A rotation that is under way makes the key pair anew, once, and keeps the old one; all other secrets stay.
func TestRotation_SSHKeypair_IsMadeAnewAndOldOneKept(t *testing.T) {
	t.Parallel()
	var fails error
	o := withSecrets(t, &fails)
	first := secretsOf(t, o)
	rotate := func(initiated, completed int64) map[string]corev1.Secret {
		t.Helper()
		o.Shoot.Status.Credentials = sshStatus(initiated, completed)
		if err := o.InitializeSecrets(t.Context()); err != nil {
			t.Fatal(err)
		}
		return secretsOf(t, o)
	}
	second := rotate(100, 0)
	if cmp.Equal(first[SecretSSHKeyPair].Data, second[SecretSSHKeyPair].Data) {
		t.Error("the key pair is the same as before")
	}
	if diff := cmp.Diff(first[SecretSSHKeyPair].Data, second["ssh-keypair.old"].Data); diff != "" {
		t.Errorf("the old one (-want +got):\n%s", diff)
	}
	for _, name := range []string{SecretSSHKeyPair, "ssh-keypair.old"} {
		if second[name].Labels["persist"] != "true" {
			t.Errorf("%s does not move with the shoot: %v", name, second[name].Labels)
		}
	}
	if label := second[SecretSSHKeyPair].Labels["last-rotation-initiation-time"]; label != "100" {
		t.Errorf("it was rotated at %q", label)
	}
	for name, secret := range first {
		if name != SecretSSHKeyPair && !cmp.Equal(secret.Data, second[name].Data) {
			t.Errorf("%s has changed", name)
		}
	}
	for name, times := range map[string][2]int64{"the run is repeated": {100, 0}, "it is complete": {100, 110}} {
		if diff := cmp.Diff(second, rotate(times[0], times[1])); diff != "" {
			t.Errorf("%s, and something has changed:\n%s", name, diff)
		}
	}
	third := rotate(200, 110)
	if !cmp.Equal(third["ssh-keypair.old"].Data, second[SecretSSHKeyPair].Data) || cmp.Equal(third[SecretSSHKeyPair].Data,
		second[SecretSSHKeyPair].Data) {
		t.Error("the next rotation does not put the key pair of the last one in the place of the old one")
	}
}

// A gardenlet that dies between the two writes loses no key pair, and the next run rotates.
func TestRotation_CrashBetweenWrites_KeepsOldKeypair(t *testing.T) {
	t.Parallel()
	var fails error
	o := withSecrets(t, &fails)
	first := secretsOf(t, o)[SecretSSHKeyPair].Data
	o.Shoot.Status.Credentials = sshStatus(100, 0)
	fails = errors.New("the gardenlet ends")
	if err := o.InitializeSecrets(t.Context()); !errors.Is(err, fails) {
		t.Fatalf("it ends with %v", err)
	}
	if now := secretsOf(t, o); !cmp.Equal(first, now[SecretSSHKeyPair].Data) {
		t.Fatal("the key pair has changed")
	}
	fails = nil
	if err := o.InitializeSecrets(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := secretsOf(t, o); !cmp.Equal(first, now["ssh-keypair.old"].Data) || cmp.Equal(first,
		now[SecretSSHKeyPair].Data) {
		t.Error("the old key pair is lost, or not rotated")
	}
}

// A shoot that moves keeps its credentials, also with a rotation that is not complete.
func TestRotation_Restore_KeepsKeypair(t *testing.T) {
	t.Parallel()
	var fails error
	o := withSecrets(t, &fails)
	first := secretsOf(t, o)
	o.running, o.Shoot.Status.Credentials = gardencorev1beta1.LastOperationTypeRestore, sshStatus(100, 0)
	if err := o.InitializeSecrets(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, secretsOf(t, o)); diff != "" {
		t.Errorf("the restoration has changed secrets:\n%s", diff)
	}
}
