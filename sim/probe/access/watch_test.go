package access_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/transplant-sim/transplant/sim/probe/access"
)

func TestEvents_EachEndOfAWatch_HasItsError(t *testing.T) {
	t.Parallel()
	errTaken := errors.New("it cannot be taken")
	for name, c := range map[string]struct {
		send func(stream *watch.FakeWatcher, cancel context.CancelFunc)
		take error
		is   func(error) bool
	}{
		"the server ends it": {
			send: func(stream *watch.FakeWatcher, _ context.CancelFunc) { stream.Stop() },
			is:   func(err error) bool { return errors.Is(err, access.ErrWatchEnded) },
		},
		"with an error": {
			send: func(stream *watch.FakeWatcher, _ context.CancelFunc) {
				stream.Error(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired})
			},
			is: func(err error) bool { return apierrors.IsResourceExpired(err) && !errors.Is(err, access.ErrWatchEnded) },
		},
		"an event is not taken": {
			send: func(*watch.FakeWatcher, context.CancelFunc) {}, take: errTaken,
			is: func(err error) bool { return errors.Is(err, errTaken) },
		},
		"ctx ends": {
			send: func(_ *watch.FakeWatcher, cancel context.CancelFunc) { cancel() },
			is:   func(err error) bool { return errors.Is(err, context.Canceled) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream := watch.NewFakeWithChanSize(2, false)
			stream.Add(&corev1.ConfigMap{})
			taken := 0
			err := access.Events(ctx, stream, func(event watch.Event) error {
				if taken++; event.Type != watch.Added {
					t.Errorf("event %s was taken", event.Type)
				}
				c.send(stream, cancel)
				return c.take
			})
			if taken != 1 || !c.is(err) {
				t.Errorf("%d events, then %v", taken, err)
			}
		})
	}
}
