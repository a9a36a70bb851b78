package contract

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// The rows of docs/specification/extensions.md#spec-3-5.
func TestReady(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 11, 21, 12, 0, 0, 700_000_000, time.UTC)
	good := func() *extensionsv1alpha1.Infrastructure {
		object := controlplanetest.Infrastructure()
		object.Generation, object.Status.ObservedGeneration = 2, 2
		object.Annotations = map[string]string{constants.GardenerTimestamp: asked.Format(time.RFC3339Nano)}
		object.Status.LastOperation = &gardencorev1beta1.LastOperation{
			Type: "Reconcile", State: "Succeeded", LastUpdateTime: metav1.NewTime(asked.Truncate(time.Second)),
		}
		return object
	}
	if err := Ready(good()); err != nil {
		t.Fatalf("an object that is as it should be is not ready: %v", err)
	}
	for name, c := range map[string]struct {
		spoil func(*extensionsv1alpha1.Infrastructure)
		want  string
	}{
		"1 last error": {func(o *extensionsv1alpha1.Infrastructure) {
			o.Status.LastError = &gardencorev1beta1.LastError{Description: "no quota"}
		}, "error during reconciliation: no quota"},
		"2 observed generation": {func(o *extensionsv1alpha1.Infrastructure) {
			o.Generation = 3
		}, "observed generation 2 is outdated"},
		"3 annotation": {func(o *extensionsv1alpha1.Infrastructure) {
			o.Annotations[constants.GardenerOperation] = "reconcile"
		}, "not yet picked up"},
		"4 no last operation": {func(o *extensionsv1alpha1.Infrastructure) {
			o.Status.LastOperation = nil
		}, "no last operation"},
		"5 not succeeded": {func(o *extensionsv1alpha1.Infrastructure) {
			o.Status.LastOperation.State = "Processing"
		}, "not Succeeded but Processing"},
		"6 older than the request": {func(o *extensionsv1alpha1.Infrastructure) {
			o.Status.LastOperation.LastUpdateTime = metav1.NewTime(asked.Add(-time.Second))
		}, "is not answered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := good()
			c.spoil(object)
			if err := Ready(object); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// A Migrate/Succeeded from before the request is no answer to it (docs/specification/quirks.md#quirk-m2).
func TestMigratedIsAnAnswerToTheLastRequest(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	object := controlplanetest.Infrastructure()
	object.Annotations = map[string]string{constants.GardenerTimestamp: asked.Format(time.RFC3339Nano)}
	object.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Migrate", State: "Succeeded",
		LastUpdateTime: metav1.NewTime(asked.Add(-time.Minute))}
	if Migrated(object) == nil {
		t.Error("an old success passes for an answer")
	}
	object.Status.LastOperation.LastUpdateTime = metav1.NewTime(asked)
	if err := Migrated(object); err != nil {
		t.Errorf("an answer is not taken: %v", err)
	}
	object.Annotations[constants.GardenerOperation] = constants.GardenerOperationMigrate
	if Migrated(object) == nil {
		t.Error("the extension is not done while the annotation is there")
	}
}
