package knocktest

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
)

func TestListening_OwnSockets_AreFound(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"127.0.0.1:0", ":0", "[::1]:0"} {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", at)
		if err != nil {
			t.Logf("this machine has no address %s: %v", at, err) // one without IPv6
			continue
		}
		t.Cleanup(func() { _ = listener.Close() }) // nothing is lost with it
		tables := ""
		for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
			content, err := os.ReadFile(table)
			if err != nil {
				t.Fatal(err)
			}
			tables += string(content)
		}
		all, err := Listening(tables)
		if err != nil {
			t.Fatal(err)
		}
		own := listener.Addr().(*net.TCPAddr).AddrPort()
		want := netip.AddrPortFrom(own.Addr().Unmap(), own.Port())
		if !slices.ContainsFunc(all, func(s Socket) bool { return s.Address == want && s.Inode != "0" }) {
			t.Errorf("%s is not among %v", want, all)
		}
	}
}

func TestListening_OtherStates_AreLeftOut(t *testing.T) {
	t.Parallel()
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	const rest = " 00000000:00000000 00:00000000 00000000  0 0 77 1 0 100 0 0 10 0\n"
	all, err := Listening(head + "   0: 0100007F:18EB 00000000:0000 0A" + rest +
		"   1: 0100007F:18EC 0100007F:0001 01" + rest)
	if err != nil || len(all) != 1 || all[0].Inode != "77" || all[0].Address.Port() != 0x18eb {
		t.Errorf("got %v, %v", all, err)
	}
	if _, err := Listening("   0: 01007F:18EB 00000000:0000 0A" + rest); err == nil {
		t.Error("an address of three bytes is read")
	}
}
