package userfile_test

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/transplant-sim/transplant/api/userfile"
)

const most = 100

func TestRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	for name, size := range map[string]int{"empty": 0, "full": most, "over": most + 1} {
		if err := os.WriteFile(at(name), []byte(strings.Repeat("x", size)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(syscall.Mkfifo(at("pipe"), 0o600), os.Symlink("/dev/zero", at("link")),
		os.Symlink("full", at("good")),
		os.WriteFile(at("sparse"), nil, 0o600), os.Truncate(at("sparse"), 1<<40)); err != nil {
		t.Fatal(err)
	}
	socket, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for name, want := range map[string]string{
		"empty": "", "full": "", "good": "", "over": "larger than 100 bytes; give a smaller one",
		"sparse": "larger than 100 bytes",
		"pipe":   "it is a named pipe; give a regular file", "link": "it is a device; give", "socket": "it is a socket; give",
		".": "it is a folder; give", "none": "no such file",
	} {
		content, err := userfile.Read(at(name), most)
		if want == "" && (err != nil || strings.Trim(string(content), "x") != "") {
			t.Errorf("%s: %q, %v", name, content, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) &&
			name != ".") {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
		if none := errors.Is(err, fs.ErrNotExist); none != (name == "none") {
			t.Errorf("%s: not there is %t", name, none)
		}
		if name == "empty" || name == "full" || name == "none" { // which may be appended to
			continue
		}
		if file, err := userfile.Append(at(name)); strings.Contains(want, "it is a") &&
			(err == nil || !errors.Is(err, userfile.ErrNotRegular)) {
			file.Close()
			t.Errorf("append to %s: %v", name, err)
		}
	}
}

func TestReadAll_AnEndlessInput_IsCutOff(t *testing.T) {
	t.Parallel()
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	for name, in := range map[string]io.Reader{"zeros": zero,
		"bytes": iotest.OneByteReader(strings.NewReader(strings.Repeat("x", most+1)))} {
		if content, err := userfile.ReadAll(in, name, most); err == nil || !strings.Contains(err.Error(),
			"read "+name+": it is larger") || len(content) != most {
			t.Errorf("%s: %d bytes, %v", name, len(content), err)
		}
	}
	if content, err := userfile.ReadAll(strings.NewReader(strings.Repeat("x", most)), "as many", most); err != nil ||
		len(content) != most {
		t.Errorf("%d bytes, %v", len(content), err)
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	in := bufio.NewReaderSize(strings.NewReader("short\n\n"+strings.Repeat("x", 50)+"\nlast"), 16)
	for _, want := range []string{"short\n", "\n", strings.Repeat("x", 50) + "\n"} {
		if line, err := userfile.Line(in, 51); string(line) != want || err != nil {
			t.Errorf("%q, %v, want %q", line, err, want)
		}
	}
	if line, err := userfile.Line(in, 51); string(line) != "last" || !errors.Is(err, io.EOF) {
		t.Errorf("%q, %v", line, err)
	}
	if _, err := userfile.Line(bufio.NewReader(strings.NewReader(strings.Repeat("x", 50))), 49); err == nil ||
		!strings.Contains(err.Error(), "longer than 49 bytes") {
		t.Errorf("a long line: %v", err)
	}
}
