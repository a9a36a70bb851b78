// Package secondsign finds out whether the shoots of a silent seed still answer: a seed that only the garden cannot
// hear is not dead (docs/ownership.md#spec-9-4). It binds no shoot anywhere: package migration does.
package secondsign

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
)

// Listener hears shoots.
type Listener interface {
	// Hear returns why a shoot does not answer by its name; nil if it does.
	Hear(ctx context.Context, shoot *gardencorev1beta1.Shoot) error
}

// askedAtOnce bounds the shoots that are asked at the same time, and answerWithin how long each may take to answer.
const (
	askedAtOnce  = 100
	answerWithin = 3 * time.Second
)

// Sign is what shoots of silent seeds have answered. The zero value has no answer.
type Sign struct {
	heard map[client.ObjectKey]answer // the last one of every shoot that has answered since its seed went silent
}

type answer struct {
	seed string
	at   time.Time
}

// Listen asks the shoots of silent seeds, all of them in turn, and notes who answers. It returns how long that may have
// taken.
func (s *Sign) Listen(ctx context.Context, to Listener, now time.Time, silent map[string]time.Time,
	shoots []gardencorev1beta1.Shoot) (atMost time.Duration) {
	count := 0
	heard := map[client.ObjectKey]answer{}
	var mu sync.Mutex
	var asked sync.WaitGroup
	tickets := make(chan struct{}, askedAtOnce)
	for i := range shoots {
		shoot := &shoots[i]
		seed := lifecycle.ResponsibleSeedOf(shoot)
		key := client.ObjectKeyFromObject(shoot)
		if _, is := silent[seed]; !is {
			continue
		}
		mu.Lock()
		if last, known := s.heard[key]; known && last.seed == seed {
			heard[key] = last
		}
		mu.Unlock()
		if !speaks(shoot) {
			continue
		}
		count++
		tickets <- struct{}{}
		asked.Go(func() {
			defer func() { <-tickets }()
			ctx, cancel := context.WithTimeout(ctx, answerWithin)
			defer cancel()
			if err := to.Hear(ctx, shoot); err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			heard[key] = answer{seed: seed, at: now}
		})
	}
	asked.Wait()
	s.log(ctx, heard)
	s.heard = heard
	return time.Duration((count+askedAtOnce-1)/askedAtOnce) * answerWithin
}

// log logs which shoots have answered for the first time since their seed went silent.
func (s *Sign) log(ctx context.Context, heard map[client.ObjectKey]answer) {
	for key, one := range heard {
		if _, before := s.heard[key]; !before {
			log.FromContext(ctx).Info("The seed is silent, its shoot answers: it stays where it is for now", "shoot", key,
				"seed", one.seed)
		}
	}
}

// Spares reports whether the shoot need not be evacuated although its seed is silent: it has answered not longer than
// patience ago. Who cannot answer, because it sleeps or is not on the seed that is lost, is spared for as long as
// another of that seed is.
func (s *Sign) Spares(shoot *gardencorev1beta1.Shoot, lost string, now time.Time, patience time.Duration) bool {
	recent := func(one answer) bool { return one.seed == lost && now.Sub(one.at) < patience }
	if speaks(shoot) && lifecycle.ResponsibleSeedOf(shoot) == lost {
		return recent(s.heard[client.ObjectKeyFromObject(shoot)])
	}
	for _, one := range s.heard {
		if recent(one) {
			return true
		}
	}
	return false
}

// speaks reports whether the shoot would answer if its seed were well.
func speaks(shoot *gardencorev1beta1.Shoot) bool {
	asleep := shoot.Status.IsHibernated || shoot.Spec.Hibernation != nil && ptr.Deref(shoot.Spec.Hibernation.Enabled,
		false)
	return !asleep && lifecycle.Created(shoot)
}
