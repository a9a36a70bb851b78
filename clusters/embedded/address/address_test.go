package address

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	garden, err := Slot(0).Cluster(0)
	if err != nil {
		t.Fatal(err)
	}
	want := "127.17.0.1 127.17.64.0/18 127.17.128.0/18 127.17.192.0/18"
	if got := fmt.Sprint(garden.Node, garden.Pods, garden.Services, garden.LoadBalancers); got != want {
		t.Errorf("garden of slot 0: got %s, want %s", got, want)
	}
	last, err := Slot(27).Cluster(6)
	if err != nil {
		t.Fatal(err)
	}
	if want := "127.239.0.1"; last.Node.String() != want {
		t.Errorf("last cluster of the last slot: got %s, want %s", last.Node, want)
	}
	if _, err := Slot(0).Cluster(7); err == nil {
		t.Error("an eighth cluster got addresses")
	}
	got := []string{Slot(1).Cloud().String(), Slot(1).DNS().String(), Slot(1).CloudMetrics().String(),
		Slot(1).NodesMetrics().String(), mustLink(t, 1, 0), mustLink(t, 1, 253), mustLink(t, 1, 254)}
	wantAll := []string{"127.24.0.2:8443", "127.24.0.3:5353", "127.24.0.2:9100", "127.24.0.4:9100", "127.24.1.1:8443",
		"127.24.1.254:8443", "127.24.2.1:8443"}
	if diff := cmp.Diff(wantAll, got); diff != "" {
		t.Error(diff)
	}
	for _, taken := range append(wantAll, Slot(1).Supervisor().String()+":1") {
		if at := netip.MustParseAddrPort(taken); Slot(1).Balancers().Contains(at.Addr()) {
			t.Errorf("%s is one of the load balancers", at)
		}
	}
	if last, err := Slot(1).Link(62*254 - 1); err != nil || Slot(1).Balancers().Contains(last.Addr()) {
		t.Errorf("the last link has %s, %v", last, err)
	}
	if _, err := Slot(0).Link(62 * 254); err == nil {
		t.Error("a link beyond the plan got an address")
	}
}

func mustLink(t *testing.T, slot Slot, n int) string {
	t.Helper()
	address, err := slot.Link(n)
	if err != nil {
		t.Fatal(err)
	}
	return address.String()
}

// No address may belong to two clusters, of one landscape or of two.
func TestPlansAreDisjoint(t *testing.T) {
	t.Parallel()
	owner := map[netip.Prefix]string{}
	for slot := range Slots {
		owner[Slot(slot).Balancers()] = fmt.Sprintf("the load balancers of slot %d", slot)
		for n := range MaxClusters {
			c, err := Slot(slot).Cluster(n)
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("slot %d cluster %d", slot, n)
			for _, prefix := range []netip.Prefix{netip.PrefixFrom(c.Node, 32), c.Pods, c.Services, c.LoadBalancers} {
				for other, whose := range owner {
					if other.Overlaps(prefix) {
						t.Fatalf("%s of %s overlaps %s of %s", prefix, name, other, whose)
					}
				}
				owner[prefix] = name
			}
		}
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	first, err := Take(t.Context(), FirstOnes, nothing)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TakeSlot(first.Slot); !errors.Is(err, ErrSlotTaken) {
		t.Errorf("claim a slot twice: got %v, want ErrSlotTaken", err)
	}
	second, err := Take(t.Context(), FirstOnes, nothing)
	if err != nil {
		t.Fatal(err)
	}
	if first.Slot == second.Slot {
		t.Errorf("two claims of slot %d", first.Slot)
	}
	for _, claim := range []*Claim{first, second} {
		if err := claim.Release(); err != nil {
			t.Error(err)
		}
	}
	if _, err := TakeSlot(Slots); err == nil {
		t.Errorf("slot %d was claimed", Slots)
	}
}

func nothing(Slot) ([]Endpoint, error) { return nil, nil }

// A slot in which somebody else holds an address is passed over, and given back. Where all are like that, the error
// names the addresses taken in the first one.
func TestTake_AddressHeldBySomebodyElse_TakesAnotherSlot(t *testing.T) {
	t.Parallel()
	taken := Endpoint{Network: "tcp", AddrPort: occupy(t, "tcp"), Purpose: "the API server"}
	var passed []Slot
	claim, err := Take(t.Context(), FirstOnes, func(slot Slot) ([]Endpoint, error) {
		if len(passed) == 2 {
			return nil, nil
		}
		passed = append(passed, slot)
		return []Endpoint{taken}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(passed) != 2 || claim.Slot <= passed[1] {
		t.Errorf("slot %d was taken, after %v", claim.Slot, passed)
	}
	if want := takenErrors([]Endpoint{taken}); fmt.Sprint(claim.Passed) != want.Error() {
		t.Errorf("slots were passed over because of %v, want %v", claim.Passed, want)
	}
	if err := claim.Release(); err != nil {
		t.Error(err)
	}
	_, err = Take(t.Context(), FirstOnes, func(Slot) ([]Endpoint, error) { return []Endpoint{taken}, nil })
	var reason *TakenError
	if !errors.As(err, &reason) || reason.AddrPort != taken.AddrPort || !errors.Is(err, ErrNoSlot) ||
		strings.Contains(err.Error(), "--slot") {
		t.Errorf("got %v, want ErrNoSlot and a TakenError", err)
	}
	failure := errors.New("no plan")
	_, err = Take(t.Context(), FirstOnes, func(Slot) ([]Endpoint, error) { return nil, failure })
	if !errors.Is(err, failure) {
		t.Errorf("got %v, want the plan's error", err)
	}
}

func TestCheckFreeNamesTheHolder(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"tcp", "udp"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			address := occupy(t, network)
			endpoints := []Endpoint{
				{Network: network, AddrPort: netip.AddrPortFrom(netip.MustParseAddr("127.241.7.9"), 6443), Purpose: "a free one"},
				{Network: network, AddrPort: address, Purpose: "the API server"},
			}
			err := CheckFree(t.Context(), endpoints)
			var taken *TakenError
			if !errors.As(err, &taken) {
				t.Fatalf("got %v, want a TakenError", err)
			}
			if taken.AddrPort != address {
				t.Errorf("got address %s, want %s", taken.AddrPort, address)
			}
			for _, want := range []string{address.String(), "the API server", fmt.Sprintf("process %d (", os.Getpid())} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error %q does not mention %q", err, want)
				}
			}
		})
	}
}

func occupy(t *testing.T, network string) netip.AddrPort {
	t.Helper()
	if network == "udp" {
		connection, err := net.ListenPacket("udp", "127.241.7.8:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = connection.Close() })
		return connection.LocalAddr().(*net.UDPAddr).AddrPort()
	}
	listener, err := net.Listen("tcp", "127.241.7.8:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().(*net.TCPAddr).AddrPort()
}
