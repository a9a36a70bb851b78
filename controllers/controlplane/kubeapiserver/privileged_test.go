package kubeapiserver

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// Agents of network and CSI extensions on nodes are privileged: without the flag the API server refuses them.
func TestDeploy_AgentsOfExtensions_MayBePrivileged(t *testing.T) {
	t.Parallel()
	s := controlplanetest.Scope(t, "Create", interceptor.Funcs{}, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: workload.ServiceEtcdClient}})
	if err := New(s).Deploy(t.Context()); err != nil {
		t.Fatal(err)
	}
	deployed := &appsv1.Deployment{}
	if err := s.Seed.Get(t.Context(), s.Key("kube-apiserver"), deployed); err != nil {
		t.Fatal(err)
	}
	if command := deployed.Spec.Template.Spec.Containers[0].Command; !slices.Contains(command, "--allow-privileged=true") {
		t.Errorf("the API server refuses privileged pods: %q", command)
	}
}
