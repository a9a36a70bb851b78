package rotation_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/rotation"
)

const unsupported = ` is not supported: of all credentials, only the SSH key pair of nodes can be rotated, by ` +
	`rotate-ssh-keypair`

// Every rotation of the API is either carried out or refused.
func TestRefusal(t *testing.T) {
	t.Parallel()
	withNodes := func(settings *gardencorev1beta1.WorkersSettings) gardencorev1beta1.Provider {
		return gardencorev1beta1.Provider{Workers: []gardencorev1beta1.Worker{{Name: "a"}}, WorkersSettings: settings}
	}
	ssh := func(enabled bool) *gardencorev1beta1.WorkersSettings {
		return &gardencorev1beta1.WorkersSettings{SSHAccess: &gardencorev1beta1.SSHAccess{Enabled: enabled}}
	}
	const noNodes = `"rotate-ssh-keypair" is not possible: the shoot has no nodes that can be reached by SSH`
	for _, c := range []struct {
		operation string
		provider  gardencorev1beta1.Provider
		want      string
	}{
		{"reconcile", withNodes(nil), ""},
		{"rotate-ssh-keypair", withNodes(nil), ""},
		{"rotate-ssh-keypair", withNodes(&gardencorev1beta1.WorkersSettings{}), ""},
		{"rotate-ssh-keypair", withNodes(ssh(true)), ""},
		{"rotate-ssh-keypair", withNodes(ssh(false)), noNodes},
		{"rotate-ssh-keypair", gardencorev1beta1.Provider{}, noNodes},
		{"rotate-credentials-start", withNodes(nil), `"rotate-credentials-start"` + unsupported},
		{"rotate-credentials-start-without-workers-rollout", withNodes(nil),
			`"rotate-credentials-start-without-workers-rollout"` + unsupported},
		{"rotate-credentials-complete", withNodes(nil), `"rotate-credentials-complete"` + unsupported},
		{"rotate-ca-start", withNodes(nil), `"rotate-ca-start"` + unsupported},
		{"rotate-ca-start-without-workers-rollout", withNodes(nil), `"rotate-ca-start-without-workers-rollout"` +
			unsupported},
		{"rotate-ca-complete", withNodes(nil), `"rotate-ca-complete"` + unsupported},
		{"rotate-serviceaccount-key-start", withNodes(nil), `"rotate-serviceaccount-key-start"` + unsupported},
		{"rotate-serviceaccount-key-start-without-workers-rollout", withNodes(nil),
			`"rotate-serviceaccount-key-start-without-workers-rollout"` + unsupported},
		{"rotate-serviceaccount-key-complete", withNodes(nil), `"rotate-serviceaccount-key-complete"` + unsupported},
		{"rotate-etcd-encryption-key", withNodes(nil), `"rotate-etcd-encryption-key"` + unsupported},
		{"rotate-etcd-encryption-key-start", withNodes(nil), `"rotate-etcd-encryption-key-start"` + unsupported},
		{"rotate-etcd-encryption-key-complete", withNodes(nil), `"rotate-etcd-encryption-key-complete"` + unsupported},
		{"rotate-observability-credentials", withNodes(nil), `"rotate-observability-credentials"` + unsupported},
	} {
		shoot := &gardencorev1beta1.Shoot{Spec: gardencorev1beta1.ShootSpec{Provider: c.provider}}
		if got := rotation.Refusal(shoot, c.operation); got != c.want {
			t.Errorf("%s: %q, want %q", c.operation, got, c.want)
		}
	}
}

func TestIsPending(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) *metav1.Time { return &metav1.Time{Time: time.Unix(seconds, 0)} }
	for name, c := range map[string]struct {
		rotation *gardencorev1beta1.ShootSSHKeypairRotation
		want     bool
	}{
		"none":            {nil, false},
		"never initiated": {&gardencorev1beta1.ShootSSHKeypairRotation{LastCompletionTime: at(1)}, false},
		"initiated":       {&gardencorev1beta1.ShootSSHKeypairRotation{LastInitiationTime: at(1)}, true},
		"complete": {&gardencorev1beta1.ShootSSHKeypairRotation{LastInitiationTime: at(1),
			LastCompletionTime: at(2)}, false},
		"complete at once": {&gardencorev1beta1.ShootSSHKeypairRotation{LastInitiationTime: at(1),
			LastCompletionTime: at(1)}, false},
		"initiated once again": {&gardencorev1beta1.ShootSSHKeypairRotation{LastInitiationTime: at(3),
			LastCompletionTime: at(2)}, true},
		"not read as initiated": {&gardencorev1beta1.ShootSSHKeypairRotation{}, false},
	} {
		if got := rotation.IsPending(c.rotation); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
