// Package address gives pods and load balancers addresses of their own out of a range, and remembers them across
// restarts.
//
// It configures no interface: all of 127.0.0.0/8 is local already.
package address

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// ErrExhausted is returned when all addresses of the range are in use.
var ErrExhausted = errors.New("no address is free")

// Pool hands out addresses of one range. A returned address comes back last. Its methods may be called from any
// goroutine.
type Pool struct {
	prefix netip.Prefix
	file   string

	mutex sync.Mutex
	state state
}

type state struct {
	Last   netip.Addr            `json:"last"` // handed out last
	Owners map[string]netip.Addr `json:"owners"`
}

// Open reads what the pool has handed out from its file, or starts with nothing.
func Open(prefix netip.Prefix, file string) (*Pool, error) {
	p := &Pool{prefix: prefix.Masked(), file: file}
	p.state.Owners = map[string]netip.Addr{}
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the addresses in use: %w", err)
	}
	if err == nil {
		if err := json.Unmarshal(content, &p.state); err != nil {
			return nil, fmt.Errorf("parse the addresses in use, %q: %w", file, err)
		}
	}
	if !p.prefix.Contains(p.state.Last) {
		p.state.Last = p.prefix.Addr()
	}
	return p, nil
}

// Contains says whether an address is of the pool's range.
func (p *Pool) Contains(address netip.Addr) bool { return p.prefix.Contains(address) }

// Of returns the owner's address, a new one if it has none.
func (p *Pool) Of(owner string) (netip.Addr, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if address, known := p.state.Owners[owner]; known {
		return address, nil
	}
	used := make(map[netip.Addr]bool, len(p.state.Owners))
	for _, address := range p.state.Owners {
		used[address] = true
	}
	for address := p.after(p.state.Last); ; address = p.after(address) {
		if !used[address] {
			p.state.Last = address
			return address, p.give(owner, address)
		}
		if address == p.state.Last {
			return netip.Addr{}, fmt.Errorf("find an address in %s: %w", p.prefix, ErrExhausted)
		}
	}
}

// Claim gives the owner one certain address. It returns false when that is another's, or outside of the range.
func (p *Pool) Claim(owner string, address netip.Addr) (bool, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.prefix.Contains(address) {
		return false, nil
	}
	for other, taken := range p.state.Owners {
		if taken == address {
			return other == owner, nil
		}
	}
	return true, p.give(owner, address)
}

func (p *Pool) give(owner string, address netip.Addr) error {
	p.state.Owners[owner] = address
	return p.save()
}

// Release lets the owner's address go.
func (p *Pool) Release(owner string) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if _, known := p.state.Owners[owner]; !known {
		return nil
	}
	delete(p.state.Owners, owner)
	return p.save()
}

// Owners lists who has an address.
func (p *Pool) Owners() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Collect(maps.Keys(p.state.Owners))
}

// after is the next address; after the last comes the second, as the first is the network's.
func (p *Pool) after(address netip.Addr) netip.Addr {
	next := address.Next()
	if !p.prefix.Contains(next) || !p.prefix.Contains(next.Next()) {
		return p.prefix.Addr().Next()
	}
	return next
}

func (p *Pool) save() error {
	content, err := json.Marshal(p.state)
	if err != nil {
		return fmt.Errorf("encode the addresses in use: %w", err)
	}
	temporary := p.file + ".new"
	if err := os.MkdirAll(filepath.Dir(p.file), 0o755); err != nil {
		return fmt.Errorf("make the folder of the addresses in use: %w", err)
	}
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return fmt.Errorf("write the addresses in use: %w", err)
	}
	if err := os.Rename(temporary, p.file); err != nil {
		return fmt.Errorf("write the addresses in use: %w", err)
	}
	return nil
}
