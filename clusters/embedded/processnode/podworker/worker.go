package podworker

import (
	"context"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/backoff"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podref"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podstatus"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podvolume"
)

// Worker runs one pod, from its binding to its end. Everything in it belongs to the goroutine of run, except where a
// comment says otherwise: whatever takes time happens elsewhere and comes back as a letter in the mailbox.
type Worker struct {
	*Node
	mail   *mailbox
	status *podstatus.Writer

	namespace string      // as in first
	first     *corev1.Pod // as seen first; may be read from any goroutine
	pod       *corev1.Pod // as seen last
	gone      bool        // it is not in the API any more

	folder  string
	ip      string
	objects *podref.Reader
	// volumes may be used by one goroutine at a time, which holds its mutex.
	volumes      *podvolume.Set
	volumesMutex *sync.Mutex

	phase       phase
	preparing   bool // its files are being made, or made anew, elsewhere
	stale       bool // something that the volumes show has changed
	prepareWait backoff.Delay
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

func newWorker(n *Node, pod *corev1.Pod) *Worker {
	w := &Worker{
		Node: n, mail: newMailbox(), namespace: pod.Namespace, first: pod, pod: pod, folder: n.podFolder(pod),
		ended: make(chan struct{}), volumesMutex: new(sync.Mutex),
		objects:     podref.NewReader(n.Client),
		prepareWait: backoff.Delay{Base: 200 * time.Millisecond, Max: 10 * time.Second},
	}
	w.volumes = podvolume.NewSet(w.folder+"/volumes", w.objects, n.Capacity, n.Clock)
	w.status = podstatus.NewWriter(n.Client, n.Clock, n.Log, pod, func() { w.mail.post(func() {}) })
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
func (w *Worker) run(ctx context.Context) {
	defer close(w.ended)
	go w.status.Run(ctx)
	timer := w.Clock.NewTimer(time.Hour)
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
			timer.Reset(max(0, w.wake.Sub(w.Clock.Now())))
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
func (w *Worker) elsewhere(work func() func()) {
	go func() { w.mail.post(work()) }()
}

// wakeAt makes the worker look again at a time, if not sooner.
func (w *Worker) wakeAt(t time.Time) {
	if w.wake.IsZero() || t.Before(w.wake) {
		w.wake = t
	}
}

// update gives the worker the pod as it is now.
func (w *Worker) update(pod *corev1.Pod) {
	w.mail.post(func() {
		shown := w.pod
		w.pod = pod
		w.status.Saw(pod)
		if !sameMetadata(shown, pod) {
			w.stale = true // the downward API may show it
		}
	})
}

// vanish lets the worker know that the pod is not in the API any more. Its last version says how long it may still
// take.
func (w *Worker) vanish(last *corev1.Pod) {
	w.mail.post(func() { w.gone, w.pod = true, last })
}

// refresh lets the worker know that an object the pod refers to has changed.
func (w *Worker) refresh() {
	w.mail.post(func() {
		w.stale = true
		w.retryAt = time.Time{}
		for _, i := range w.all() {
			i.configRetry = time.Time{}
		}
	})
}

// sameMetadata says whether nothing has changed that the downward API may show.
func sameMetadata(a, b *corev1.Pod) bool {
	return maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations)
}

// all lists the containers, init containers first.
func (w *Worker) all() []*instance {
	return append(append(make([]*instance, 0, len(w.init)+len(w.main)), w.init...), w.main...)
}

// mailbox brings work to one goroutine in the order in which it was sent. Sending never waits.
type mailbox struct {
	mutex sync.Mutex
	queue []func()
	// full holds a token while there is something to take.
	full chan struct{}
}

func newMailbox() *mailbox { return &mailbox{full: make(chan struct{}, 1)} }

func (m *mailbox) post(work func()) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.queue = append(m.queue, work)
	select {
	case m.full <- struct{}{}:
	default:
	}
}

func (m *mailbox) take() []func() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	queue := m.queue
	m.queue = nil
	return queue
}
