package charted

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/chart"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// The Deployment of a chart becomes an actor: its program is the one of the extension's file, and it has what each
// extension gets.
func TestActor_DeploymentOfAChart_HasWhatEachExtensionGets(t *testing.T) {
	t.Parallel()
	e := landscape.Extension{Name: "my-vault", Chart: "../../../../sim/chart/testdata/vault",
		Account: "gardener-extension-my-vault", Env: []landscape.EnvVar{{Name: "REGION", Value: "mine"}},
		Containers: []landscape.ExtensionContainer{{Name: "vault", Binary: "/bin/vault", Args: []string{"--more"}}},
		Files:      []landscape.ExtensionFile{{Path: "/etc/more.yaml", Content: "x"}}}
	installed, err := chart.Install(e, &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	got := Actor{Extension: e, Seed: "a", Account: e.Account, User: 1000,
		ImageOf: func(of landscape.ExtensionContainer) string { return "image-of-" + of.Name },
	}.Deployment(installed.Deployment)
	pod := got.Spec.Template.Spec
	if got.Namespace != "extension-my-vault" || *got.Spec.Replicas != 1 || pod.PriorityClassName != "" ||
		pod.ServiceAccountName != e.Account || *pod.AutomountServiceAccountToken || *pod.SecurityContext.RunAsUser != 1000 {
		t.Errorf("the Deployment is %+v", got)
	}
	c := pod.Containers[0]
	if diff := cmp.Diff([]string{"vault", "--config=/etc/vault/config.yaml"}, c.Command); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"--gardener-version=" + chart.GardenerVersion, "--more"}, c.Args); diff != "" {
		t.Errorf("args (-want +got):\n%s", diff)
	}
	if c.Image != "image-of-vault" {
		t.Errorf("image %s", c.Image)
	}
	env := map[string]string{}
	for _, variable := range c.Env {
		if _, twice := env[variable.Name]; twice {
			t.Errorf("%s is there twice", variable.Name)
		}
		env[variable.Name] = variable.Value
	}
	if env["REGION"] != "mine" || env["KUBECONFIG"] != "/srv/seed/kubeconfig" ||
		env[landscape.ActorVariable] != "my-vault-a" {
		t.Errorf("environment %v", env)
	}
	for _, mounted := range c.VolumeMounts {
		if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mounted.Name }) {
			t.Errorf("no volume %s for %s", mounted.Name, mounted.MountPath)
		}
	}
	if len(c.VolumeMounts) != 5 {
		t.Errorf("mounts %v", c.VolumeMounts)
	}
}
