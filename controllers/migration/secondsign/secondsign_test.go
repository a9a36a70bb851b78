package secondsign

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// voices are the shoots that answer.
type voices map[string]bool

func (v voices) Hear(_ context.Context, shoot *gardencorev1beta1.Shoot) error {
	if !v[shoot.Name] {
		return errors.New("it does not answer")
	}
	return nil
}

func shootOn(seed, operation string) gardencorev1beta1.Shoot {
	shoot := gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "s"}}
	shoot.Spec.SeedName, shoot.Status.SeedName = &seed, &seed
	shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{
		Type: gardencorev1beta1.LastOperationType(operation), State: gardencorev1beta1.LastOperationStateSucceeded,
	}
	return shoot
}

// An answer of before the seed went silent says nothing, and neither does one that the shoot gave on another seed.
func TestOldAnswersAreForgotten(t *testing.T) {
	t.Parallel()
	s, now := &Sign{}, time.Unix(1000, 0)
	here, silent := shootOn("a", "Reconcile"), map[string]time.Time{"a": now}
	s.Listen(t.Context(), voices{"s": true}, now, silent, []gardencorev1beta1.Shoot{here})
	if !s.Spares(&here, "a", now, time.Second) {
		t.Fatal("a shoot that answers is not spared")
	}
	if s.Spares(&here, "a", now.Add(time.Second), time.Second) {
		t.Error("an old answer counts")
	}
	s.Listen(t.Context(), voices{}, now, map[string]time.Time{}, []gardencorev1beta1.Shoot{here})
	s.Listen(t.Context(), voices{}, now, silent, []gardencorev1beta1.Shoot{here})
	if s.Spares(&here, "a", now, time.Second) {
		t.Error("an answer counts that was given before the seed was heard of again")
	}
	s.Listen(t.Context(), voices{"s": true}, now, silent, []gardencorev1beta1.Shoot{here})
	there := shootOn("b", "Restore")
	s.Listen(t.Context(), voices{}, now, map[string]time.Time{"a": now, "b": now}, []gardencorev1beta1.Shoot{there})
	if s.Spares(&there, "b", now, time.Second) {
		t.Error("an answer counts that was given on another seed")
	}
}
