package address

import (
	"errors"
	"net/netip"
	"path/filepath"
	"testing"
)

func TestPool(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "run", "addresses.json")
	open := func() *Pool {
		p, err := Open(netip.MustParsePrefix("127.9.64.0/29"), file)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	of := func(p *Pool, owner, want string) {
		t.Helper()
		if got, err := p.Of(owner); err != nil || got.String() != want {
			t.Errorf("%s has got %s, %v, want %s", owner, got, err, want)
		}
	}
	p := open()
	of(p, "a", "127.9.64.1")
	of(p, "b", "127.9.64.2")
	of(p, "a", "127.9.64.1")
	if err := p.Release("a"); err != nil {
		t.Fatal(err)
	}
	p = open()
	of(p, "b", "127.9.64.2")
	of(p, "c", "127.9.64.3") // not the one just returned
	for address, want := range map[string]bool{"127.9.64.5": true, "127.9.64.3": false, "127.9.65.1": false} {
		if got, err := p.Claim("d", netip.MustParseAddr(address)); err != nil || got != want {
			t.Errorf("claim of %s is %t, %v, want %t", address, got, err, want)
		}
	}
	of(p, "d", "127.9.64.5")
	of(p, "e", "127.9.64.4")
	of(p, "f", "127.9.64.6")
	of(p, "a", "127.9.64.1")
	if _, err := p.Of("g"); !errors.Is(err, ErrExhausted) {
		t.Errorf("from a full range: got %v", err)
	}
}
