package hatch

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// However many connect, a hatch has at most 64 processes; who comes later is carried when one of the others has gone.
func TestHatch_ManyConnections_CarriesFew(t *testing.T) {
	folder := t.TempDir()
	echo := []byte("#!/bin/sh\nexec cat\n")
	if err := os.WriteFile(filepath.Join(folder, "docker"), echo, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	var s Set
	defer s.Close()
	at, err := s.Find(Key{"node", "10.244.0.7", 6443})
	if err != nil {
		t.Fatal(err)
	}
	echoes := func(c net.Conn, within time.Duration) error {
		_ = c.SetReadDeadline(time.Now().Add(within))
		_, err := io.ReadFull(c, make([]byte, 1))
		return err
	}
	var open []net.Conn
	for range 65 {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if open = append(open, c); len(open) <= 64 {
			if err := echoes(c, time.Minute); err != nil {
				t.Fatalf("connection %d: %v", len(open), err)
			}
		}
	}
	if err := echoes(open[64], 500*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("connection 65, beside 64 others: %v", err)
	}
	open[0].Close()
	if err := echoes(open[64], time.Minute); err != nil {
		t.Errorf("connection 65, after one has gone: %v", err)
	}
}
