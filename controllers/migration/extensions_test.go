package migration

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/extensions"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// diary has what a seed is asked to do, in its order, and lets extensions answer at once: an extension that releases
// its object writes into the state what it knows by then.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) on(seed client.Client) client.Client {
	return interceptor.NewClient(seed.(client.WithWatch), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
			options ...client.PatchOption) error {
			err := c.Patch(ctx, o, patch, options...)
			extension, is := answered(o)
			if err != nil || !is || o.GetAnnotations()["gardener.cloud/operation"] != "migrate" {
				return err
			}
			d.note("migrate " + o.GetName())
			annotations := o.GetAnnotations()
			delete(annotations, "gardener.cloud/operation")
			o.SetAnnotations(annotations)
			if err := c.Update(ctx, o); err != nil {
				return err
			}
			extension.GetExtensionStatus().SetState(&runtime.RawExtension{Raw: []byte(`"released"`)})
			extension.GetExtensionStatus().SetLastOperation(&gardencorev1beta1.LastOperation{Type: "Migrate", State: "Succeeded",
				LastUpdateTime: metav1.Now()})
			if _, apart := o.(*extensionsv1alpha1.DNSRecord); apart { // its status is, on this seed
				return c.Status().Update(ctx, o)
			}
			return c.Update(ctx, o)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			switch o.(type) {
			case *extensionsv1alpha1.Extension, *extensionsv1alpha1.DNSRecord, *extensionsv1alpha1.Bastion:
				d.note("delete " + o.GetName())
			case *appsv1.Deployment:
				if o.GetName() == workload.KubeAPIServer {
					d.note("delete the API server")
				}
			}
			return c.Delete(ctx, o, options...)
		},
	})
}

// answered are the objects that the diary answers for.
func answered(o client.Object) (extensionsv1alpha1.Object, bool) {
	switch o := o.(type) {
	case *extensionsv1alpha1.Extension:
		return o, true
	case *extensionsv1alpha1.DNSRecord:
		return o, true
	}
	return nil, false
}

// Every name of a shoot is released when its API server is gone, and before its object is deleted: the records stay as
// they are (docs/specification/migration.md#spec-2-6-step-44, docs/specification/migration.md#spec-2-9-2).
func TestMigrate_ReleasesEveryName(t *testing.T) {
	t.Parallel()
	shoot, r := leaving(t, &extensionsv1alpha1.DNSRecord{ObjectMeta: inNamespace("s-internal")},
		&extensionsv1alpha1.DNSRecord{ObjectMeta: inNamespace("s-external")})
	d := &diary{}
	r.Factory.Seed = d.on(r.Factory.Seed)
	if _, err := r.Reconcile(t.Context(),
		reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}); !errors.Is(err, errNotEnded) {
		t.Fatalf("got %v, want to hear of the end of the epoch", err)
	}
	want := []string{"delete the API server", "migrate s-external", "migrate s-internal", "delete s-external",
		"delete s-internal"}
	if diff := cmp.Diff(want, d.lines); diff != "" {
		t.Errorf("what the seed was asked to do (-want +got):\n%s", diff)
	}
}

// Each Extension is released at its moment, and what it writes while it does is saved, early or late
// (docs/specification/migration.md#spec-2-6, docs/specification/api.md#spec-1-8).
func TestMigrate_ReleasesExtensionsAtTheirMoments(t *testing.T) {
	t.Parallel()
	extension := func(name string) *extensionsv1alpha1.Extension {
		e := &extensionsv1alpha1.Extension{ObjectMeta: inNamespace(name)}
		e.Spec.Type = name
		return e
	}
	shoot, r := leaving(t, extension("early"), extension("late"), extension("plain"))
	shoot.Spec.Extensions = []gardencorev1beta1.Extension{{Type: "early"}, {Type: "late"}, {Type: "plain"}}
	if err := r.Factory.Garden.Update(t.Context(), shoot); err != nil {
		t.Fatal(err)
	}
	for name, moment := range map[string]extensions.Moment{"early": gardencorev1beta1.BeforeKubeAPIServer,
		"late": gardencorev1beta1.AfterKubeAPIServer} {
		registration := &gardencorev1beta1.ControllerRegistration{ObjectMeta: metav1.ObjectMeta{Name: name}}
		registration.Spec.Resources = []gardencorev1beta1.ControllerResource{{Kind: "Extension", Type: name,
			Lifecycle: &gardencorev1beta1.ControllerResourceLifecycle{Migrate: &moment}}}
		if err := r.Factory.Garden.Create(t.Context(), registration); err != nil {
			t.Fatal(err)
		}
	}
	d := &diary{}
	r.Factory.Seed = d.on(r.Factory.Seed)
	if _, err := r.Reconcile(t.Context(),
		reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}); !errors.Is(err, errNotEnded) {
		t.Fatalf("got %v, want to hear of the end of the epoch", err)
	}
	want := []string{"migrate early", "migrate plain", "delete early", "delete plain", "delete the API server",
		"migrate late", "delete late"}
	if diff := cmp.Diff(want, d.lines); diff != "" {
		t.Errorf("what the seed was asked to do (-want +got):\n%s", diff)
	}
	state, err := (&shootstate.Store{Garden: r.Factory.Garden, Clock: r.Factory.Clock}).Load(t.Context(),
		client.ObjectKeyFromObject(shoot))
	if err != nil {
		t.Fatal(err)
	}
	var saved []string
	for _, e := range state.Extensions {
		saved = append(saved, e.Name+" "+string(e.State.Raw))
	}
	slices.Sort(saved)
	if diff := cmp.Diff([]string{`early "released"`, `late "released"`, `plain "released"`}, saved); diff != "" {
		t.Errorf("saved (-want +got):\n%s", diff)
	}
}

// A Bastion that somebody makes when the migration has begun goes while its seed owns the shoot: later nobody may
// delete what it stands for in the cloud.
func TestABastionOfTheMeantimeIsDeletedInTime(t *testing.T) {
	t.Parallel()
	shoot, r := leaving(t)
	d := &diary{}
	seed := d.on(r.Factory.Seed)
	r.Factory.Seed = interceptor.NewClient(seed.(client.WithWatch), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			if o.GetName() == workload.MachineController {
				if err := c.Create(ctx, &extensionsv1alpha1.Bastion{ObjectMeta: inNamespace("jump")}); err != nil &&
					!apierrors.IsAlreadyExists(err) {
					return err
				}
			}
			return c.Delete(ctx, o, options...)
		},
	})
	if _, err := r.Reconcile(t.Context(),
		reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}); !errors.Is(err, errNotEnded) {
		t.Fatalf("got %v, want to hear of the end of the epoch", err)
	}
	if diff := cmp.Diff([]string{"delete jump", "delete the API server"}, d.lines); diff != "" {
		t.Errorf("what the seed was asked to do (-want +got):\n%s", diff)
	}
}
