package controlplane

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// behind is a cache in which nothing has happened for its first looks.
type behind struct {
	client.Reader
	looks int
}

func (b *behind) late() error {
	if b.looks--; b.looks >= 0 {
		return errors.New("not yet")
	}
	return nil
}

func (b *behind) Get(ctx context.Context, key client.ObjectKey, object client.Object, o ...client.GetOption) error {
	if err := b.late(); err != nil {
		return err
	}
	return b.Reader.Get(ctx, key, object, o...)
}

func (b *behind) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	if err := b.late(); err != nil {
		return err
	}
	return b.Reader.List(ctx, list, o...)
}

// A wait reads what a watch sees from the cache, and asks the API server at the end: not at each change of the
// namespace, of which there are many while a control plane starts. A cache that has stopped costs a second.
func TestWaits_NamespaceThatChangesOften_AskTheAPIServerOnce(t *testing.T) {
	t.Parallel()
	const changes, pause = 20, 20 * time.Millisecond
	meta := metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: "alpha"}
	done := &extensionsv1alpha1.Infrastructure{ObjectMeta: meta}
	done.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Succeeded"}
	migrated := done.DeepCopy()
	migrated.Status.LastOperation.Type = "Migrate"
	gone := &extensionsv1alpha1.Infrastructure{ObjectMeta: meta}
	for name, c := range map[string]struct {
		there []client.Object
		wait  func(context.Context, *Operation) error
		reads int
	}{
		"extension": {[]client.Object{done}, func(ctx context.Context, o *Operation) error {
			return o.Objects.Wait(ctx, gone.DeepCopy())
		}, 1},
		"extension taken up": {[]client.Object{done}, func(ctx context.Context, o *Operation) error {
			return o.Objects.WaitTakenUp(ctx, gone.DeepCopy())
		}, 1},
		"migration": {[]client.Object{migrated}, func(ctx context.Context, o *Operation) error {
			return o.Objects.WaitMigrated(ctx, gone.DeepCopy())
		}, 1},
		"deletion": {nil, func(ctx context.Context, o *Operation) error {
			return o.Objects.WaitDeleted(ctx, gone.DeepCopy())
		}, 1},
		"deployment": {[]client.Object{rolledOut("kube-apiserver")}, func(ctx context.Context, o *Operation) error {
			return o.Workloads.Wait(ctx, "kube-apiserver", time.Hour)
		}, 1},
		"end of a deployment": {nil, func(ctx context.Context, o *Operation) error {
			return o.Workloads.Delete(ctx, "kube-apiserver")
		}, 2}, // of its pods, too
		"etcd": {[]client.Object{&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace,
			Name: "etcd-main"}, Status: appsv1.StatefulSetStatus{ReadyReplicas: 1}}},
			func(ctx context.Context, o *Operation) error { return o.Etcd.Wait(ctx) }, 1},
	} {
		for _, cached := range []struct {
			name  string
			looks int
			after time.Duration
		}{{"woken", changes, changes * pause}, {"the cache has stopped", 1 << 20, time.Second}} {
			t.Run(name+" "+cached.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					reads := 0
					o := New(controlplanetest.Scope(t, "Reconcile", counting(&reads), c.there...))
					seed := controlplanetest.Scope(t, "Reconcile", interceptor.Funcs{}, c.there...).Seed
					o.WaitInterval, o.Watched = time.Minute, &behind{Reader: seed, looks: cached.looks}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					go func() {
						for ctx.Err() == nil {
							select {
							case <-ctx.Done():
							case <-time.After(pause):
								o.Bell.Ring(o.Namespace())
							}
						}
					}()
					begin := time.Now()
					if err := c.wait(t.Context(), o); err != nil {
						t.Fatal(err)
					}
					if reads != c.reads || time.Since(begin) != cached.after {
						t.Errorf("%d reads of the API server in %s, want %d in %s", reads, time.Since(begin), c.reads, cached.after)
					}
				})
			})
		}
	}
}

// counting counts the reads of an API server.
func counting(reads *int) interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			options ...client.GetOption) error {
			*reads++
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			*reads++
			return c.List(ctx, list, options...)
		},
	}
}

func rolledOut(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: name},
		Status: appsv1.DeploymentStatus{UpdatedReplicas: 1, ReadyReplicas: 1, Replicas: 1}}
}
