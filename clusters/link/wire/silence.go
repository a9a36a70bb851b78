package wire

import (
	"cmp"
	"net"
	"net/http"
	"time"
)

// Silence bounds how long a client may keep a connection without a request. Time counts while no fault holds bytes
// back: a connection that a fault silences stays open.
type Silence struct {
	// First is from the connection, or from the answer to its CONNECT, to the end of the first request's header; 30 s by
	// default.
	First time.Duration
	// Next is from the last answer to the end of the next request's header; 3 minutes by default. Clients of Kubernetes
	// close what is idle after 90 s, so that none of them meets it.
	Next time.Duration
}

// WithDefaults fills in what is 0.
func (s Silence) WithDefaults() Silence {
	return Silence{First: cmp.Or(s.First, 30*time.Second), Next: cmp.Or(s.Next, 3*time.Minute)}
}

// Follow is the ConnState of a link's server. The deadlines that a server has of its own do not know faults.
func (s Silence) Follow(socket net.Conn, state http.ConnState) {
	c := inner(socket)
	if c == nil {
		return
	}
	switch state {
	case http.StateNew:
		c.allowSilence(s.First)
	case http.StateIdle:
		c.allowSilence(s.Next)
	default:
		c.allowSilence(0)
	}
}

// allowSilence closes the connection when the limit has passed; never if that is 0. It replaces the limit before.
func (c *Conn) allowSilence(limit time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silence != nil {
		c.silence.Stop()
		c.silence = nil
	}
	if limit > 0 {
		c.countSilence(limit)
	}
}

// countSilence begins to count. The caller holds the mutex.
func (c *Conn) countSilence(limit time.Duration) {
	began := c.shared.Plan()
	var timer *time.Timer
	timer = time.AfterFunc(limit, func() { // the silence of a socket is real time
		c.mu.Lock()
		over := c.silence == timer
		if now := c.shared.Plan(); over && (now != began || now.holds(ToServer) || now.holds(ToClient)) {
			over = false
			c.countSilence(limit)
		}
		c.mu.Unlock()
		if over {
			c.Kill()
		}
	})
	c.silence = timer
}
