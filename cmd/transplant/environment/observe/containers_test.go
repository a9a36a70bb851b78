package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// The name of a third-party program says nothing about which actor it is.
func TestRuns_ThirdPartyExtensionNamedAsActor_IsNotTheActor(t *testing.T) {
	t.Parallel()
	own := process.Program{Args: []string{"/bin/gardenlet"}, Env: map[string]string{"TRANSPLANT_ACTOR": "vault-a"}}
	if Runs(own, "gardenlet") {
		t.Error("an extension that is called gardenlet is taken for one")
	}
	if !Runs(process.Program{Args: []string{"transplant", "gardenlet"}}, "gardenlet") {
		t.Error("the gardenlet is not found")
	}
}

// The name of a seed may end with that of another one.
func TestProgramOf_SeedEndsWithTheNameOfAnother_IsOnItsOwn(t *testing.T) {
	t.Parallel()
	extensions := []landscape.Extension{{Name: "vault"}}
	for _, seeds := range [][]string{{"a", "eu-a"}, {"eu-a", "a"}} {
		for actor, want := range map[string][2]string{
			"gardenlet-eu-a": {"eu-a", "gardenlet"}, "gardenlet-a": {"a", "gardenlet"},
			"vault-eu-a": {"eu-a", "vault"}, "resource-manager-a": {"a", "resource-manager"},
			"garden-controller-manager": {"garden", "garden-controller-manager"},
			"user":                      {"", "user"},
		} {
			cluster, program, isExtension := programOf(actor, seeds, extensions)
			if cluster != want[0] || program != want[1] || isExtension != (program == "vault") {
				t.Errorf("%s of %v is %s on %q, an extension: %t", actor, seeds, program, cluster, isExtension)
			}
		}
	}
}

// planePod is one of a control plane, which has been given a way out, or none.
func planePod(shoot, name, role, secret string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--" + shoot, Name: name, UID: types.UID(shoot + name),
			Labels: map[string]string{"role": role}},
		Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: secret}}}}},
	}
}

// An API server is nobody who calls, so that a fault of it harms no other shoot. What calls out shares its links with
// the control planes of all shoots.
func TestPlaneParts(t *testing.T) {
	t.Parallel()
	server := planePod("alpha", "server", "kube-apiserver", "etcd-client")
	etcd := planePod("alpha", "etcd-main-0", "etcd", "kubeconfig-garden")
	machines := planePod("alpha", "machines", "machine-controller", "kubeconfig-cloud")
	manager := planePod("alpha", "manager", "kube-controller-manager", "kubeconfig")
	beta := planePod("beta", "etcd-main-0", "etcd", "kubeconfig-garden")
	gardenlet := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "gardenlet", UID: "gardenlet"}}
	all := []corev1.Pod{server, etcd, machines, manager, beta, gardenlet}
	replaced := etcd // between the two lists
	replaced.UID = "before"
	succeeded, failed, leaving := planePod("beta", "done", "etcd", "kubeconfig-garden"),
		planePod("beta", "failed", "etcd", "kubeconfig-garden"), planePod("beta", "leaving", "etcd", "kubeconfig-garden")
	succeeded.Status.Phase, failed.Status.Phase = corev1.PodSucceeded, corev1.PodFailed
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	all = append(all, succeeded, failed, leaving)
	const actor = "control-planes-a"
	for name, c := range map[string]struct {
		pods []corev1.Pod
		want world.Parts
	}{
		"an API server": {[]corev1.Pod{server, manager}, world.Parts{Targets: []string{"shoot/alpha"}}},
		"an etcd": {[]corev1.Pod{etcd}, world.Parts{Actors: []string{actor}, Others: map[string][]string{
			actor: {"shoot--p--alpha/machines", "shoot--p--beta/etcd-main-0"}}}},
		"a whole plane": {all[:4], world.Parts{Actors: []string{actor}, Targets: []string{"shoot/alpha"},
			Others: map[string][]string{actor: {"shoot--p--beta/etcd-main-0"}}}},
		"one that was replaced": {[]corev1.Pod{replaced, machines, beta}, world.Parts{Actors: []string{actor},
			Others: map[string][]string{actor: nil}}},
		"all": {all, world.Parts{Actors: []string{actor}, Targets: []string{"shoot/alpha"},
			Others: map[string][]string{actor: nil}}},
		"others": {[]corev1.Pod{gardenlet}, world.Parts{}},
	} {
		if diff := cmp.Diff(c.want, planeParts("a", c.pods, all)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
