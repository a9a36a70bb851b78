package podworker

import (
	"context"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podstatus"
)

// Worker runs one pod, from its binding to its end. Everything in it belongs to the goroutine of run, except where a
// comment says otherwise: whatever takes time happens elsewhere and comes back as a letter in the mailbox.
type Worker struct {
	pod        *pod
	sandbox    *sandbox
	containers containers
	report     reporter

	deleted bool          // the API server has been asked to remove the pod
	ended   chan struct{} // closed when run has returned
}

func newWorker(n *Node, first *corev1.Pod) *Worker {
	w := &Worker{pod: &pod{Node: n, mail: newMailbox(), first: first, seen: first}, ended: make(chan struct{})}
	w.sandbox = newSandbox(w.pod)
	for i := range first.Spec.InitContainers {
		w.containers.init = append(w.containers.init,
			newInstance(w.pod, w.sandbox, &first.Spec.InitContainers[i], true))
	}
	for i := range first.Spec.Containers {
		w.containers.main = append(w.containers.main, newInstance(w.pod, w.sandbox, &first.Spec.Containers[i], false))
	}
	w.report = reporter{pod: w.pod, sandbox: w.sandbox, containers: &w.containers,
		writer: podstatus.NewWriter(n.Client, n.Clock, n.Log, first, func() { w.pod.mail.post(func() {}) })}
	w.restore()
	return w
}

// run works until the pod is gone and nothing is left of it, or ctx is done.
func (w *Worker) run(ctx context.Context) {
	defer close(w.ended)
	go w.report.writer.Run(ctx)
	timer := w.pod.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		w.pod.mail.wake = time.Time{}
		w.sync(ctx)
		w.report.publish()
		w.deleteWhenWritten(ctx)
		if w.pod.gone && w.pod.phase == phaseStopped && w.sandbox.cleanUp() {
			return
		}
		timer.Stop()
		if !w.pod.mail.wake.IsZero() {
			timer.Reset(max(0, w.pod.mail.wake.Sub(w.pod.Clock.Now())))
		}
		select {
		case <-ctx.Done():
			return
		case <-w.pod.mail.full:
		case <-timer.C():
		}
		for _, work := range w.pod.mail.take() {
			work()
		}
	}
}

// update gives the worker the pod as it is now.
func (w *Worker) update(pod *corev1.Pod) {
	w.pod.mail.post(func() {
		shown := w.pod.seen
		w.pod.seen = pod
		w.report.writer.Saw(pod)
		if !sameMetadata(shown, pod) {
			w.sandbox.stale = true // the downward API may show it
		}
	})
}

// vanish lets the worker know that the pod is not in the API any more. Its last version says how long it may still
// take.
func (w *Worker) vanish(last *corev1.Pod) {
	w.pod.mail.post(func() { w.pod.gone, w.pod.seen = true, last })
}

// refresh lets the worker know that an object the pod refers to has changed.
func (w *Worker) refresh() {
	w.pod.mail.post(func() {
		w.sandbox.stale = true
		w.sandbox.retryAt = time.Time{}
		for _, i := range w.containers.all() {
			i.configRetry = time.Time{}
		}
	})
}

// sameMetadata says whether nothing has changed that the downward API may show.
func sameMetadata(a, b *corev1.Pod) bool {
	return maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations)
}

// mailbox brings work to one goroutine in the order in which it was sent. Sending never waits.
type mailbox struct {
	wake time.Time // when its goroutine is to look again without a letter, which it alone may set; zero for never

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

// elsewhere runs what takes time in a goroutine of its own, and what it returns in that of the mailbox.
func (m *mailbox) elsewhere(work func() func()) {
	go func() { m.post(work()) }()
}

// wakeAt makes the mailbox's goroutine look again at a time, if not sooner.
func (m *mailbox) wakeAt(t time.Time) {
	if m.wake.IsZero() || t.Before(m.wake) {
		m.wake = t
	}
}
