// Package servetest serves folders of runs to tests.
package servetest

import (
	"context"
	"testing"

	"github.com/transplant-sim/transplant/sim/report/serve"
)

// Start is the address of a server for a folder, which ends with the test.
func Start(t *testing.T, folder string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- serve.Serve(ctx, serve.Options{Folder: folder, Address: "127.0.0.1:0", Ready: func(url string) {
			ready <- url
		}})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended: %v", err)
		}
	})
	select {
	case url := <-ready:
		return url
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
		return ""
	}
}
