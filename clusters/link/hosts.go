package link

import (
	"fmt"
)

const (
	// maxHosts is how many hosts a proxy keeps a link for: more than a landscape has names of shoots.
	maxHosts = 4096
	// maxHost is the longest name that DNS knows, in bytes.
	maxHost = 253
)

// hosted is the link of a host.
type hosted struct {
	*Link
	pinned   bool   // somebody outside has it
	visitors int    // clients that are being let in
	used     uint64 // when a client last came
}

// use of a link by clients; the less, the sooner it is dropped.
type use int

const (
	unused use = iota
	silent     // it has connections, and there was never a request
	inUse      // or somebody outside has it, a client is being let in, or a fault acts on it and not on all hosts
)

func (h *hosted) use(ofAll int) use {
	stats := h.Stats()
	switch {
	case h.pinned || h.visitors > 0 || stats.Faults > ofAll || stats.OpenConnections > 0 && stats.Requests > 0:
		return inUse
	case stats.OpenConnections > 0:
		return silent
	}
	return unused
}

// visit is the link of a host for a client, which has to leave it once it is let in, or refused.
func (p *Proxy) visit(host string) (*hosted, error) {
	if len(host) > maxHost {
		return nil, fmt.Errorf("the name of the host has %d bytes; must have at most %d", len(host), maxHost)
	}
	host = normal(host)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.links[host] == nil && len(p.links) >= maxHosts && !p.drop() {
		return nil, fmt.Errorf("there are connections to %d hosts; close some", len(p.links))
	}
	h := p.host(host)
	p.uses++
	h.visitors, h.used = h.visitors+1, p.uses
	return h, nil
}

func (p *Proxy) leave(h *hosted) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h.visitors--
}

// host is the link of a host, made if there is none. The caller holds the mutex.
func (p *Proxy) host(name string) *hosted {
	h := p.links[name]
	if h == nil {
		h = &hosted{Link: p.newLink(name)}
		p.links[name] = h
		for i, ends := range p.all {
			ends[h.Link] = h.traffic.begin(i)
		}
	}
	return h
}

// drop the link whose last client came first, of those that are least used; false if all are in use. What has passed it
// still counts. The caller holds the mutex.
func (p *Proxy) drop() bool {
	oldest, least := "", inUse
	for name, h := range p.links {
		if u := h.use(len(p.all)); u < least || u == least && u < inUse && h.used < p.links[oldest].used {
			oldest, least = name, u
		}
	}
	if oldest == "" {
		return false
	}
	h := p.links[oldest]
	delete(p.links, oldest)
	for _, ends := range p.all {
		ends[h.Link]()
		delete(ends, h.Link)
	}
	p.gone = p.gone.plus(h.Stats())
	p.goneKinds.add(h.Kinds())
	p.calls.Go(func() { _ = h.Close() }) // no request is on it
	return true
}
