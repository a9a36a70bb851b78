package processnode

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podvolume"
)

// worker runs one pod, from its binding to its end. Everything in it belongs to the goroutine of run, except where a
// comment says otherwise: whatever takes time happens elsewhere and comes back as a letter in the mailbox.
type worker struct {
	*node
	mail   *mailbox
	status *statusWriter

	namespace string      // as in first
	first     *corev1.Pod // as seen first; may be read from any goroutine
	pod       *corev1.Pod // as seen last
	gone      bool        // it is not in the API any more

	folder  string
	ip      string
	objects *objects
	// volumes may be used by one goroutine at a time, which holds its mutex.
	volumes      *podvolume.Set
	volumesMutex *sync.Mutex

	phase       phase
	preparing   bool // its files are being made, or made anew, elsewhere
	stale       bool // something that the volumes show has changed
	prepareWait backoff
	retryAt     time.Time // of the preparation, or of a refresh
	failure     failure   // why the pod has failed as a whole, if it has
	stopBy      time.Time // when the last container is killed, once the pod is being stopped

	init        []*instance // in order; sidecars are among them
	main        []*instance
	started     time.Time // of the pod
	initialized bool

	conditions []corev1.PodCondition // ours, with the times of their last change
	wake       time.Time             // when to look again without a letter; zero for never
	deleted    bool                  // the API server has been asked to remove the pod
	ended      chan struct{}         // closed when run has returned
}

// phase is how far a pod has come. It only grows.
type phase int

const (
	phaseNew      phase = iota // nothing is there yet
	phaseReady                 // it has an address and its volumes
	phaseStopping              // no container is started any more
	phaseStopped               // all containers have ended
)

// failure is a reason that fails a pod as a whole.
type failure struct{ reason, message string }

func newWorker(n *node, pod *corev1.Pod) *worker {
	w := &worker{
		node: n, mail: newMailbox(), namespace: pod.Namespace, first: pod, pod: pod, folder: n.podFolder(pod),
		ended: make(chan struct{}), volumesMutex: new(sync.Mutex),
		objects:     &objects{client: n.client},
		prepareWait: backoff{base: 200 * time.Millisecond, max: 10 * time.Second},
	}
	w.volumes = podvolume.NewSet(w.folder+"/volumes", w.objects, n.capacity, n.clock)
	w.status = newStatusWriter(n.client, n.clock, n.log, pod, func() { w.mail.post(func() {}) })
	for i := range pod.Spec.InitContainers {
		w.init = append(w.init, newInstance(n, &pod.Spec.InitContainers[i], true))
	}
	for i := range pod.Spec.Containers {
		w.main = append(w.main, newInstance(n, &pod.Spec.Containers[i], false))
	}
	w.restore()
	return w
}

// run works until the pod is gone and nothing is left of it, or ctx is done.
func (w *worker) run(ctx context.Context) {
	defer close(w.ended)
	go w.status.run(ctx)
	timer := w.clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		w.wake = time.Time{}
		w.sync(ctx)
		w.publish()
		w.deleteWhenWritten(ctx)
		if w.gone && w.phase == phaseStopped && w.cleanUp() {
			return
		}
		timer.Stop()
		if !w.wake.IsZero() {
			timer.Reset(max(0, w.wake.Sub(w.clock.Now())))
		}
		select {
		case <-ctx.Done():
			return
		case <-w.mail.full:
		case <-timer.C():
		}
		for _, work := range w.mail.take() {
			work()
		}
	}
}

// elsewhere runs what takes time in a goroutine of its own, and what it returns in the worker's.
func (w *worker) elsewhere(work func() func()) {
	go func() { w.mail.post(work()) }()
}

// wakeAt makes the worker look again at a time, if not sooner.
func (w *worker) wakeAt(t time.Time) {
	if w.wake.IsZero() || t.Before(w.wake) {
		w.wake = t
	}
}

// update gives the worker the pod as it is now.
func (w *worker) update(pod *corev1.Pod) {
	w.mail.post(func() {
		shown := w.pod
		w.pod = pod
		w.status.saw(pod)
		if !sameMetadata(shown, pod) {
			w.stale = true // the downward API may show it
		}
	})
}

// vanish lets the worker know that the pod is not in the API any more. Its last version says how long it may still
// take.
func (w *worker) vanish(last *corev1.Pod) {
	w.mail.post(func() { w.gone, w.pod = true, last })
}

// refresh lets the worker know that an object the pod refers to has changed.
func (w *worker) refresh() {
	w.mail.post(func() {
		w.stale = true
		w.retryAt = time.Time{}
		for _, i := range w.all() {
			i.configRetry = time.Time{}
		}
	})
}

// all lists the containers, init containers first.
func (w *worker) all() []*instance {
	return append(append(make([]*instance, 0, len(w.init)+len(w.main)), w.init...), w.main...)
}

// ask lets another goroutine look at a worker. It returns false when the worker has ended, or ctx is done.
func ask[T any](ctx context.Context, w *worker, question func() T) (answer T, answered bool) {
	answers := make(chan T, 1)
	w.mail.post(func() { answers <- question() })
	select {
	case answer = <-answers:
		return answer, true
	case <-w.ended:
	case <-ctx.Done():
	}
	return answer, false
}
