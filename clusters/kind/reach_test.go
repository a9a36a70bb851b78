package kind

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What leads nowhere is refused, one way is opened once, and none after the end.
func TestReach(t *testing.T) {
	t.Parallel()
	l := &Landscape{}
	l.clusters = []*Cluster{{name: "a", full: "x-a", landscape: l}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n"}}
	for cluster, want := range map[string]string{
		"lost": `find the cluster "lost"`,
		"a":    `reach port 6443 of pod n/p of cluster "a": it has no address yet, but ""`,
	} {
		if _, err := l.Reach(t.Context(), cluster, pod, 6443); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("on %s: got %v, want %q", cluster, err, want)
		}
	}
	seen := map[string]bool{}
	for _, address := range []string{"10.244.0.7", "10.244.0.8", "10.244.0.7"} {
		pod.Status.PodIP = address
		at, err := l.Reach(t.Context(), "a", pod, 6443)
		if err != nil {
			t.Fatal(err)
		}
		seen[at] = true
	}
	if len(seen) != 2 {
		t.Errorf("two addresses are reached by %v", seen)
	}
	l.hatches.close()
	if _, err := l.Reach(t.Context(), "a", pod, 6443); err == nil || !strings.HasSuffix(err.Error(),
		"the landscape has stopped") {
		t.Errorf("after the end: %v", err)
	}
}

// However many connect, a hatch has at most 64 processes; who comes later is carried when one of the others has gone.
func TestHatch_ManyConnections_CarriesFew(t *testing.T) {
	folder := t.TempDir()
	echo := []byte("#!/bin/sh\nexec cat\n")
	if err := os.WriteFile(filepath.Join(folder, "docker"), echo, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	var s hatches
	defer s.close()
	at, err := s.find(hatchKey{"node", "10.244.0.7", 6443})
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
