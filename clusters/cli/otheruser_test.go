package cli_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/otheruser"
)

// Another user of the machine does not stop a landscape by its supervisor's socket: neither where the run directory is
// closed, as it is made, nor where somebody has opened it.
func testAnotherUserDoesNotStop(t *testing.T, h home) {
	dir := rundir.At("default", filepath.Join(string(h), "default"))
	for above := string(h); len(above) > len(os.TempDir()); above = filepath.Dir(above) {
		if err := os.Chmod(above, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	short, err := os.MkdirTemp("", "") // the name of a socket may have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	link := filepath.Join(short, "l")
	if err := errors.Join(os.Chmod(short, 0o755), os.Symlink(dir.Path, link)); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(link, filepath.Base(dir.Socket()))
	for _, mode := range []os.FileMode{0o755, 0o700} {
		if err := os.Chmod(dir.Path, mode); err != nil {
			t.Fatal(err)
		}
		if err := otheruser.Do(t, func() error { return stop(socket) }); !errors.Is(err, os.ErrPermission) {
			t.Errorf("another user stops it where the run directory has mode %o: %v", mode, err)
		}
	}
	h.run(t, "status") // fails where it is not up and whole
}

// stop asks a supervisor to stop its landscape, in this goroutine alone.
func stop(socket string) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	request, err := http.NewRequest(http.MethodPost, "http://supervisor/v1/stop", nil)
	if err == nil {
		err = request.Write(conn)
	}
	if err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return err
	}
	return errors.Join(answer.Body.Close(), fmt.Errorf("it answers %s", answer.Status))
}
