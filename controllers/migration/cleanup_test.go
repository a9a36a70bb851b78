package migration

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
)

// leftBehind is what shoot s may have left on a seed. Extensions hold what stands for something in the cloud.
func leftBehind() []client.Object {
	protected := inNamespace("s")
	protected.Finalizers = []string{"extensions.gardener.cloud/transplant"}
	return append(controlPlaneOf(),
		&extensionsv1alpha1.Infrastructure{ObjectMeta: protected},
		&machinev1alpha1.Machine{ObjectMeta: inNamespace("m")},
		&extensionsv1alpha1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--s--uid"}},
		&extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--s"}},
	)
}

// inventory is what a seed has of shoot s besides its Cluster, each object with its version.
func inventory(t *testing.T, seed client.Client) []string {
	t.Helper()
	var objects []string
	for _, list := range []client.ObjectList{
		&corev1.NamespaceList{}, &appsv1.StatefulSetList{}, &appsv1.DeploymentList{},
		&extensionsv1alpha1.InfrastructureList{}, &machinev1alpha1.MachineList{}, &extensionsv1alpha1.BackupEntryList{},
	} {
		if err := seed.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		if err := meta.EachListItem(list, func(o runtime.Object) error {
			objects = append(objects, fmt.Sprintf("%T %s@%s", o, o.(client.Object).GetName(),
				o.(client.Object).GetResourceVersion()))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return objects
}

// A seed removes what a shoot has left there by the word of DNS alone, and only once the shoot is restored
// (docs/ownership.md#o10).
func TestASourceCleansUpByTheWordOfDNS(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		owner string // in DNS; empty for none
		down  bool   // DNS
		early bool   // the Restore has not succeeded yet
		busy  bool
		err   error
		clean bool
	}{
		"DNS names another":            {owner: "uid-a", clean: true},
		"DNS names a third":            {owner: "uid-c", clean: true},
		"DNS names its former self":    {owner: "uid-b-before", clean: true},
		"DNS says it is nobody's":      {owner: "none", clean: true},
		"DNS names this seed":          {owner: "uid-b"},
		"DNS names nobody":             {},
		"DNS does not answer":          {owner: "uid-a", down: true, err: ownershiptest.ErrDown},
		"it is not restored yet":       {owner: "uid-a", early: true},
		"somebody works on it already": {owner: "uid-a", busy: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot := withWorkers(stranded("s", "a", "a", "Restore", "Succeeded"))
			if c.early {
				shoot.Status.LastOperation.State = "Processing"
			}
			owners, buckets, events := ownedBy("a", 9), shelves{"uid-a": nil, "uid-b": nil}, &eventLog{}
			owners.decision = &ownershiptest.Authority{} // the claim says nothing
			if c.owner != "" {
				owners.decision.Set(ownership.Record{Owner: c.owner, Epoch: 4})
			}
			owners.decision.Down(c.down)
			r := &SourceCleanup{Factory: newFactory(t, newGarden(t, "True", shoot), owners, buckets, leftBehind()...),
				Events: events, Retry: time.Second}
			if c.busy {
				if _, free := r.Factory.TryLock(client.ObjectKeyFromObject(shoot)); !free {
					t.Fatal("somebody holds the lock")
				}
			}
			left, leftIn, reported := inventory(t, r.Factory.Seed), shelves{"uid-a": nil, "uid-b": nil}, eventLog{}
			if c.clean {
				left, leftIn, reported = nil, shelves{"uid-a": nil}, eventLog{"s SourceCleaned"}
			}

			result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)})
			if !errors.Is(err, c.err) || (result.RequeueAfter > 0) != c.busy {
				t.Fatalf("looks again after %v, %v; want %v", result.RequeueAfter, err, c.err)
			}
			if diff := cmp.Diff(left, inventory(t, r.Factory.Seed)); diff != "" {
				t.Errorf("on the seed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(leftIn, buckets); diff != "" {
				t.Errorf("buckets (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(reported, *events); diff != "" && len(reported)+len(*events) > 0 {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			// Its extensions go by it as long as anything is there: it goes with the rest, and not before.
			cluster := &extensionsv1alpha1.Cluster{}
			if err := r.Factory.Seed.Get(t.Context(), client.ObjectKey{Name: "shoot--p--s"},
				cluster); client.IgnoreNotFound(err) != nil || apierrors.IsNotFound(err) != c.clean {
				t.Errorf("the Cluster: %v", err)
			}
		})
	}
}

// A removal that was broken off between the namespace and its Cluster goes on. DNS does not matter to it.
func TestSourceCleanup_NamespaceIsGone_DeletesItsCluster(t *testing.T) {
	t.Parallel()
	shoot := withWorkers(stranded("s", "a", "a", "Restore", "Succeeded"))
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--s"}}
	owners, buckets, events := ownedBy("a", 9), shelves{"uid-b": nil}, &eventLog{}
	owners.decision.Down(true)
	r := &SourceCleanup{
		Factory: newFactory(t, newGarden(t, "True", shoot), owners, buckets, cluster), Events: events, Retry: time.Second,
	}
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}
	if _, err := r.Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	err := r.Factory.Seed.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster)
	if !apierrors.IsNotFound(err) {
		t.Errorf("the Cluster: %v, want it gone", err)
	}
	if _, kept := buckets["uid-b"]; !kept || len(*events) > 0 {
		t.Errorf("the bucket is kept: %t; events %v", kept, *events)
	}
}
