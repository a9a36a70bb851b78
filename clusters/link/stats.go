package link

// Stats are what has passed a link since it was opened.
type Stats struct {
	Requests        int64 `json:"requests"`        // that have reached the link
	BytesToServer   int64 `json:"bytesToServer"`   // on the wire, those of TLS included
	BytesToClient   int64 `json:"bytesToClient"`   // likewise
	Connections     int64 `json:"connections"`     // accepted so far
	OpenConnections int64 `json:"openConnections"` // now
	Hits            int64 `json:"hits"`            // of all faults together
	// Errors are answers of 500 and above, requests that got no whole answer for another reason than that their client
	// went, those that a fault answered in place of the server, and connections that a fault broke.
	Errors int64 `json:"errors"`
	// Faults that are at work now.
	Faults int `json:"faults"`
}

// Stats counts what has passed the link.
func (l *Link) Stats() Stats {
	t := l.traffic
	t.mu.Lock()
	open := len(t.conns)
	t.mu.Unlock()
	return Stats{
		Requests:        t.requests.Load(),
		BytesToServer:   t.shared.ToServer.Load(),
		BytesToClient:   t.shared.ToClient.Load(),
		Connections:     t.connections.Load(),
		OpenConnections: int64(open),
		Hits:            t.hits.Load(),
		Errors:          t.errors.Load(),
		Faults:          len(t.plan.Load().active),
	}
}

// plus adds the counts of another link.
func (s Stats) plus(o Stats) Stats {
	return Stats{
		Requests:        s.Requests + o.Requests,
		BytesToServer:   s.BytesToServer + o.BytesToServer,
		BytesToClient:   s.BytesToClient + o.BytesToClient,
		Connections:     s.Connections + o.Connections,
		OpenConnections: s.OpenConnections + o.OpenConnections,
		Hits:            s.Hits + o.Hits,
		Errors:          s.Errors + o.Errors,
		Faults:          s.Faults + o.Faults,
	}
}

// Injections are the faults at work on the link now, in the order of their injection.
func (l *Link) Injections() []*Injection {
	var all []*Injection
	for _, a := range l.traffic.plan.Load().active {
		all = append(all, a.injection)
	}
	return all
}
