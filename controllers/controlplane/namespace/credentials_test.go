package namespace

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// The seed's token for the cloud, which is good for all of its shoots, comes into no shoot's namespace.
func TestDeployCredentials_OfTheCloud_AreGoodForTheShootOnly(t *testing.T) {
	t.Parallel()
	o := &Credentials{Scope: controlplanetest.Named(t, gardencorev1beta1.LastOperationTypeReconcile,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: "garden", Name: "control-plane-kubeconfig-garden"},
			Data: map[string][]byte{"kubeconfig": []byte("garden")}})}
	if err := o.Deploy(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"kubeconfig-garden": "garden",
		"kubeconfig-cloud": controlplanetest.ConfinedKubeconfig(t), "cloudprovider": controlplanetest.ConfinedKubeconfig(t)} {
		secret := &corev1.Secret{}
		if err := o.Seed.Get(t.Context(), o.Key(name), secret); err != nil {
			t.Fatal(err)
		}
		if got := string(secret.Data["kubeconfig"]); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
}
