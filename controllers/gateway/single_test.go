package gateway

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"

	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

// A gateway outside any seed asks the guard as a gateway does, carries what is for its shoot, and cuts it when it ends.
func TestSingle_ValidGuard_CarriesUntilItEnds(t *testing.T) {
	t.Parallel()
	w, server, etcd := &world{T: t, address: address()}, address(), address()
	w.guard, w.api = startGuard(t, etcd), startAPIServer(t, server, echo)
	clock, err := ownership.NewBootClock()
	if err != nil {
		t.Fatal(err)
	}
	single := &Single{Hosts: []string{host}, APIServer: server + ":6443", Guard: "https://" + etcd + ":2382",
		Credentials: access.FromSecret(w.guard.secret), Interval: 20 * time.Millisecond, Listen: w.address + ":9443",
		Clock: clock, Log: testr.New(t)}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- single.Run(ctx) }()
	var conn *tls.Conn
	w.eventually("the gateway", func() bool { conn, err = w.dial(host); return err == nil })
	w.says(conn, "by its name")
	if _, err := w.dial("api.beta.p.shoots.transplant.test"); err == nil {
		t.Error("another shoot is carried")
	}
	end()
	w.isCut(conn)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
