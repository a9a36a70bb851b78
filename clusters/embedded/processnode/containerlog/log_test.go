package containerlog

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
)

func pointer(n int64) *int64 { return &n }

func TestRead(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fake := testingclock.NewFakeClock(start)
	log, err := Create(filepath.Join(t.TempDir(), "pod", "0.log"), fake)
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range []struct {
		stream Stream
		text   string
	}{{Stdout, "one\ntwo\n"}, {Stderr, "three\n"}, {Stdout, "fo" + strings.Repeat("u", maxLine) + "r"}} {
		if err := log.Copy(piece.stream, strings.NewReader(piece.text)); err != nil {
			t.Fatal(err)
		}
		fake.Step(time.Second)
	}
	four := "fo" + strings.Repeat("u", maxLine) + "r"
	tests := map[string]struct {
		options Options
		want    string
	}{
		"all":        {Options{}, "one\ntwo\nthree\n" + four},
		"tail":       {Options{Tail: pointer(1)}, "three\n" + four},
		"tail zero":  {Options{Tail: pointer(0)}, four},
		"since":      {Options{Since: start.Add(time.Second)}, "three\n" + four},
		"limit":      {Options{Limit: pointer(5)}, "one\nt"},
		"one stream": {Options{Stream: Stderr}, "three\n"},
		"timestamps": {Options{Timestamps: true, Stream: Stderr}, "2026-01-02T03:04:06Z three\n"},
		"pieces":     {Options{Timestamps: true, Since: start.Add(2 * time.Second)}, "2026-01-02T03:04:07Z " + four},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := log.Read(t.Context(), &out, test.options); err != nil || out.String() != test.want {
				t.Errorf("got %q, %v, want %q", &out, err, test.want)
			}
		})
	}
}

func TestFollowAcrossRotation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "0.log")
	log, err := Create(path, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(log.Read(t.Context(), writer, Options{Follow: true})) }()
	line := strings.Repeat("x", 1000) + "\n"
	const lines = 25_000 // more than the two files hold together
	go func() {
		for range lines {
			if err := log.Copy(Stdout, strings.NewReader(line)); err != nil {
				t.Error(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}()
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Trim(string(content), "x\n") != "" || !strings.HasSuffix(string(content), line) {
		t.Error("the follower saw something else than what was written")
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxSize {
		t.Errorf("the file has %d bytes, %v, want at most %d", info.Size(), err, maxSize)
	}
}

func TestFollowEndsWithItsReader(t *testing.T) {
	t.Parallel()
	log, err := Create(filepath.Join(t.TempDir(), "0.log"), clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- log.Read(ctx, io.Discard, Options{Follow: true}) }()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the follower has not ended")
	}
}
