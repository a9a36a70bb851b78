package processnode

import "sync"

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
