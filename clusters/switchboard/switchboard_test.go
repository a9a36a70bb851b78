package switchboard

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/api/pki"
)

// board is one whose every target is the same server.
func board(t *testing.T, opened func() error) (*Board, *pki.Authority) {
	t.Helper()
	authority, err := pki.NewAuthority("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	target := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(target.Close)
	roots := x509.NewCertPool()
	roots.AddCert(target.Certificate())
	b := New(Options{
		Authority: authority, Opened: opened,
		Listen: func(int) (string, error) { return "127.0.0.1:0", nil },
		Upstream: func(name string) (*url.URL, *x509.CertPool, error) {
			if name == "nowhere" {
				return nil, nil, errors.New("there is no such target")
			}
			where, err := url.Parse(target.URL)
			return where, roots, err
		},
	})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, authority
}

func TestBoard(t *testing.T) {
	t.Parallel()
	opened := 0
	b, authority := board(t, func() error { opened++; return nil })
	first, err := b.Link("gardenlet-a", "garden")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.Link("gardenlet-a", "garden"); again != first || err != nil {
		t.Errorf("the same link was opened twice: %v", err)
	}
	proxy, err := b.Proxy("user")
	if err != nil {
		t.Fatal(err)
	}
	toShoot, err := b.Link("user", ShootPrefix+"api.alpha")
	if err != nil || toShoot.Name() != "link(user,shoot/api.alpha)" {
		t.Errorf("a shoot's link is %v, %v", toShoot, err)
	}
	if opened != 2 {
		t.Errorf("%d links were opened, want 2", opened)
	}
	want := []Arrow{{"gardenlet-a", "garden", first.URL()}, {"user", Shoots, proxy.URL()}}
	if diff := cmp.Diff(want, b.Arrows()); diff != "" {
		t.Errorf("arrows (-want +got):\n%s", diff)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Pool(),
		MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	response, err := client.Get(first.URL())
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	traffic := b.Traffic()
	if len(traffic) != 2 || traffic[0].Actor != "gardenlet-a" || traffic[0].Target != "garden" ||
		traffic[1].Actor != "user" || traffic[1].Target != Shoots {
		t.Fatalf("there is traffic of %+v", traffic)
	}
	if sent, none := traffic[0].Stats, traffic[1].Stats; sent.Requests != 1 || sent.BytesToServer == 0 ||
		sent.BytesToClient == 0 || sent.Errors != 0 || none.Requests != 0 {
		t.Errorf("after one request there were %+v, and %+v to shoots", sent, none)
	}
}

func TestBoardRefuses(t *testing.T) {
	t.Parallel()
	b, _ := board(t, func() error { return errors.New("the disk is full") })
	if _, err := b.Link("gardenlet-a", "nowhere"); err == nil ||
		err.Error() != "open link(gardenlet-a,nowhere): there is no such target" {
		t.Errorf("to nowhere: %v", err)
	}
	if _, err := b.Proxy("user"); err == nil || err.Error() != "the disk is full" {
		t.Errorf("what cannot be written down: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Link("gardenlet-a", "garden"); err == nil || !strings.HasSuffix(err.Error(),
		"the landscape has stopped") {
		t.Errorf("after the end: %v", err)
	}
	if arrows := b.Arrows(); len(arrows) != 0 {
		t.Errorf("after the end there are %v", arrows)
	}
}

// A board that reopens the links of an earlier one gives them the same addresses, and others none of these.
func TestBoard_Reopened_HasTheSameAddresses(t *testing.T) {
	t.Parallel()
	ports := func(b *Board) {
		b.options.Listen = func(n int) (string, error) { return fmt.Sprintf("127.243.0.%d:8443", n+1), nil }
	}
	before, _ := board(t, nil)
	ports(before)
	open := func(b *Board, actors ...string) {
		t.Helper()
		for _, actor := range actors {
			if _, err := b.Link(actor, "garden"); err != nil {
				t.Fatal(err)
			}
		}
	}
	open(before, "c", "b", "a")
	if _, err := before.Proxy("user"); err != nil {
		t.Fatal(err)
	}
	want := before.Arrows()
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	after, _ := board(t, nil)
	ports(after)
	if err := after.Reopen(want); err != nil {
		t.Fatal(err)
	}
	open(after, "a", "b", "c")
	if diff := cmp.Diff(want, after.Arrows()); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
	if further, err := after.Link("d", "garden"); err != nil || further.URL() != "https://127.243.0.5:8443" {
		t.Errorf("a further link is at %v, %v", further, err)
	}
	taken, _ := board(t, nil)
	ports(taken)
	if err := taken.Reopen(want); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("while another has the addresses: %v", err)
	}
}
