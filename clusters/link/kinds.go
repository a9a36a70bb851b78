package link

import (
	"maps"
	"sync"

	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
)

// Kinds counts requests by what they want.
type Kinds map[kubeapi.Kind]int64

// add the counts of another link.
func (k Kinds) add(o Kinds) {
	for kind, n := range o {
		k[kind] += n
	}
}

// tally counts the requests of a link by their kind.
type tally struct {
	mu    sync.Mutex
	kinds Kinds
}

func (t *tally) count(kind kubeapi.Kind) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kinds == nil {
		t.kinds = Kinds{}
	}
	t.kinds[kind]++
}

// Kinds counts the requests that have reached the link since it was opened.
func (l *Link) Kinds() Kinds {
	l.traffic.kinds.mu.Lock()
	defer l.traffic.kinds.mu.Unlock()
	return maps.Clone(l.traffic.kinds.kinds)
}

// Kinds adds up the links.
func (p *Proxy) Kinds() Kinds {
	sum := Kinds{}
	p.mu.Lock()
	sum.add(p.goneKinds)
	p.mu.Unlock()
	for _, l := range p.Links() {
		sum.add(l.Kinds())
	}
	return sum
}
