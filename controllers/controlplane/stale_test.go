package controlplane

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/flow"
)

// What a shoot no longer asks for goes, by a deletion that is confirmed; what it asks for, and what others have, stays.
func TestWhatAShootNoLongerWantsIsDeleted(t *testing.T) {
	t.Parallel()
	at := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	const mine, others = "shoot--p--alpha", "shoot--p--beta"
	disabled := true
	var deleted []string
	unconfirmed := errors.New("the deletion is not confirmed")
	o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			if object.GetAnnotations()[constants.ConfirmationDeletion] != constants.LabelTrue {
				return unconfirmed
			}
			deleted = append(deleted, object.GetNamespace()+" "+object.GetName())
			return c.Delete(ctx, object, opts...)
		},
	},
		&extensionsv1alpha1.Extension{ObjectMeta: at(mine, "certs")},
		&extensionsv1alpha1.Extension{ObjectMeta: at(mine, "dns")},
		&extensionsv1alpha1.Extension{ObjectMeta: at(mine, "off")},
		&extensionsv1alpha1.Extension{ObjectMeta: at(others, "dns")},
		&extensionsv1alpha1.ContainerRuntime{ObjectMeta: at(mine, "gvisor-pool")},
		&extensionsv1alpha1.ContainerRuntime{ObjectMeta: at(mine, "gvisor-removed")},
		&extensionsv1alpha1.ContainerRuntime{ObjectMeta: at(mine, "kata-pool")},
		&extensionsv1alpha1.ContainerRuntime{ObjectMeta: at(others, "gvisor-removed")},
	))
	o.Shoot.Spec.Extensions = []gardencorev1beta1.Extension{{Type: "certs"}, {Type: "off", Disabled: &disabled}}
	o.Shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "pool",
		CRI: &gardencorev1beta1.CRI{ContainerRuntimes: []gardencorev1beta1.ContainerRuntime{{Type: "gvisor"}}}}}
	for _, task := range []func(context.Context) error{o.Extensions.DeleteStale, o.Runtimes.DeleteStale} {
		if err := task(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(deleted)
	if diff := cmp.Diff([]string{mine + " dns", mine + " gvisor-removed", mine + " kata-pool", mine + " off"},
		deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}

// Who reconciles deletes what is stale, before the shoot goes to sleep; a shoot that sleeps keeps it.
func TestStaleObjectsInTheGraph(t *testing.T) {
	t.Parallel()
	enabled := true
	for name, asleep := range map[string]bool{"goes to sleep": false, "sleeps": true} {
		o := New(&scope.Scope{Shoot: &gardencorev1beta1.Shoot{}})
		o.Shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "pool"}}
		o.Shoot.Spec.Hibernation, o.Shoot.Status.IsHibernated = &gardencorev1beta1.Hibernation{Enabled: &enabled}, asleep
		before := o.ReconcileGraph().Before("Hibernating control plane")
		got := slices.DeleteFunc(before, func(task flow.TaskID) bool {
			return !strings.HasPrefix(string(task), "Deleting stale") || strings.Contains(string(task), "OperatingSystemConfig")
		})
		want := []flow.TaskID{"Deleting stale extensions", "Deleting stale container runtime resources"}
		if asleep {
			want = []flow.TaskID{}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// In a namespace that the run has created, nobody looks for what a run before may have left.
func TestFreshNamespace_LeftoversAreNotLookedFor(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]func(*Operation, context.Context) error{
		"extensions": func(o *Operation, ctx context.Context) error { return o.Extensions.DeleteStale(ctx) },
		"runtimes":   func(o *Operation, ctx context.Context) error { return o.Runtimes.DeleteStale(ctx) },
		"copies":     func(o *Operation, ctx context.Context) error { return o.References.DeleteStale(ctx) },
		"a deployment": func(o *Operation, ctx context.Context) error {
			return o.Workloads.Deploy(ctx, "x", 1, corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}})
		},
	} {
		for _, there := range []bool{false, true} {
			reads := 0
			before := []client.Object{controlplanetest.AlphasNamespace(nil, map[string]string{"transplant.dev/epoch": "1"})}
			if !there {
				before = nil
			}
			onA, _ := controlplanetest.OnSeedA(t, "Restore", nil, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
					options ...client.GetOption) error {
					reads++
					return c.Get(ctx, key, object, options...)
				},
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					reads++
					return c.List(ctx, list, options...)
				},
			}, before...)
			o := New(onA)
			o.Epoch = 2
			if err := o.ShootNamespace.Deploy(t.Context()); err != nil {
				t.Fatal(err)
			}
			reads = 0
			if err := task(o, t.Context()); err != nil || (reads > 0) != there {
				t.Errorf("%s, the namespace was there: %t: %d reads, %v", name, there, reads, err)
			}
		}
	}
}
