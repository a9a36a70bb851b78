package controlplane

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/flow"
)

// The clean-up needs the shoot awake, and its nodes: they unmount volumes and let pods end.
func TestAShootIsEmptiedBeforeItsWorkersGo(t *testing.T) {
	t.Parallel()
	o := New(&scope.Scope{Shoot: &gardencorev1beta1.Shoot{}})
	o.Shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "pool"}}
	graph := o.DeleteGraph(flow.Task{Name: "first"}, flow.Task{Name: "second"})
	awake := []flow.TaskID{
		"Deploying control plane namespace", "Deploying cloud provider account secret", "Deploying referenced resources",
		"Deploying gardener-resource-manager",
		"Initializing connection to Shoot",
	}
	for task, want := range map[flow.TaskID][]flow.TaskID{
		"first":                 awake,
		"second":                append(slices.Clone(awake), "first"),
		"Deleting worker pools": append(slices.Clone(awake), "first", "second"),
	} {
		if diff := cmp.Diff(want, graph.Before(task)); diff != "" {
			t.Errorf("before %q (-want +got):\n%s", task, diff)
		}
	}
	if before := graph.Before("Deleting BackupEntry"); !slices.Contains(before, "Destroying shoot infrastructure") ||
		!slices.Contains(before, "Deleting worker pools") {
		t.Errorf("the backups may go while there are machines: they go after %v", before)
	}
	// Their absence is no loss only where the state says so.
	if before := graph.Before("Deleting BackupEntry"); !slices.Contains(before, "Noting that nothing is left to restore") {
		t.Errorf("the backups go after %v, and nobody has noted that they may", before)
	}
	if before := graph.Before("Noting that nothing is left to restore"); !slices.Contains(before, "Destroying main etcd") {
		t.Errorf("it is noted after %v only that nothing is left to restore", before)
	}
}

func TestHasServed(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	server := func(ready int32) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: "kube-apiserver"}}
		d.Status.ReadyReplicas = ready
		return d
	}
	for name, c := range map[string]struct {
		deployment *appsv1.Deployment
		created    bool
		want       bool
	}{
		"nothing there":                         {created: true},
		"never created, and nobody ever served": {deployment: server(0)},
		"never created, but it serves":          {deployment: server(1), want: true},
		"created, and asleep or ill":            {deployment: server(0), created: true, want: true},
	} {
		b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}})
		if c.deployment != nil {
			b = b.WithObjects(c.deployment)
		}
		o := New(&scope.Scope{Seed: b.Build(), Shoot: &gardencorev1beta1.Shoot{}})
		o.Shoot.Status.TechnicalID = "shoot--p--alpha"
		if c.created {
			o.Shoot.Status.SeedName = ptr.To("a")
		}
		if got, err := o.APIServer.HasServed(t.Context()); err != nil || got != c.want {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
}
