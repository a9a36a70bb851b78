package controlplane

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

// A seed that slept through the evacuation and the deletion of a shoot finds its name on the namespace, and its UID in
// the name of its backups.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "alpha"}}
	named := map[string]string{"transplant.dev/shoot": "garden-p/alpha"}
	backups := func(name string) client.Object {
		return &extensionsv1alpha1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	for name, c := range map[string]struct {
		annotations map[string]string
		inGarden    []client.Object
		onSeed      []client.Object
		want        string // UID of the shoot; "-" for nothing to remove
		fails       bool
	}{
		"nobody's namespace": {inGarden: []client.Object{controlplanetest.SeedA()}, want: "-"},
		"its shoot lives":    {annotations: named, inGarden: []client.Object{controlplanetest.SeedA(), shoot}, want: "-"},
		"its shoot is no more": {annotations: named, inGarden: []client.Object{controlplanetest.SeedA()},
			onSeed: []client.Object{backups("shoot--p--alpha--u1"), backups("shoot--p--beta--u2")}, want: "u1"},
		"the way to its backups": {annotations: named, inGarden: []client.Object{controlplanetest.SeedA()},
			onSeed: []client.Object{backups("source-shoot--p--alpha--u1")}, want: "u1"},
		"its backups went before": {annotations: named, inGarden: []client.Object{controlplanetest.SeedA()}, want: ""},
		"the seed is unknown":     {annotations: named, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &Factory{
				Settings: scope.Settings{SeedName: "a"}, Clock: clock.RealClock{},
				Garden: fake.NewClientBuilder().WithScheme(controlplanetest.SeedScheme(t)).WithObjects(c.inGarden...).Build(),
				Seed:   fake.NewClientBuilder().WithScheme(controlplanetest.SeedScheme(t)).WithObjects(c.onSeed...).Build(),
			}
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha", Annotations: c.annotations}}
			o, err := f.Abandoned(t.Context(), logr.Discard(), namespace)
			if (err != nil) != c.fails {
				t.Fatalf("got %v", err)
			}
			if c.fails {
				return
			}
			got := "-"
			if o != nil {
				got = string(o.Shoot.Status.UID)
				if o.Namespace() != "shoot--p--alpha" || o.OwnerRecordName() != "owner.alpha.p." || o.SeedObject.UID != "uid-a" {
					t.Errorf("it is about namespace %q, record %q, seed %q", o.Namespace(), o.OwnerRecordName(), o.SeedObject.UID)
				}
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Whoever changes the Seed and then asks for a run gets what he changed, however soon after another run that is: each
// run reads the Seed, after its Shoot. Who only looks reads no Seed.
func TestFactory_EachRunReadsTheSeedAfterItsShoot(t *testing.T) {
	t.Parallel()
	var asked []string
	seed := controlplanetest.SeedA()
	garden := fake.NewClientBuilder().WithScheme(controlplanetest.SeedScheme(t)).WithObjects(seed,
		&gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "alpha"}}).Build()
	f := &Factory{
		Settings: scope.Settings{SeedName: "a"}, Clock: testingclock.NewFakeClock(time.Unix(1000, 0)),
		Garden: interceptor.NewClient(garden, interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
				options ...client.GetOption) error {
				asked = append(asked, fmt.Sprintf("%T", o))
				return c.Get(ctx, key, o, options...)
			},
		}),
	}
	key := client.ObjectKey{Namespace: "garden-p", Name: "alpha"}
	for _, zones := range [][]string{{"here-1"}, {"here-1", "here-2"}, nil} {
		seed.Spec.Provider.Zones = zones
		if err := garden.Update(t.Context(), seed); err != nil {
			t.Fatal(err)
		}
		asked = nil
		o, err := f.Operation(t.Context(), logr.Discard(), key)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(zones, o.SeedObject.Spec.Provider.Zones); diff != "" {
			t.Errorf("the Seed's zones (-want +got):\n%s", diff)
		}
		if _, err := f.Look(t.Context(), logr.Discard(), key); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"*v1beta1.Shoot", "*v1beta1.Seed", "*v1beta1.Shoot"}, asked); diff != "" {
			t.Errorf("reads of a run and of a look (-want +got):\n%s", diff)
		}
	}
}
