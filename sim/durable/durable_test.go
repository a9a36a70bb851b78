package durable_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/durable"
)

// The bytes are on the disk before the file has its name, and the names before Write returns.
func TestWrite_SyncsInOrder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "one"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	var synced []string
	disk := durable.Disk{Sync: func(file *os.File) error {
		one, _ := os.ReadFile(filepath.Join(folder, "one"))
		two, _ := os.ReadFile(filepath.Join(folder, "two"))
		content, _ := os.ReadFile(file.Name()) // a folder has none
		what := "folder"
		if name := filepath.Base(file.Name()); strings.HasPrefix(name, ".") {
			what = strings.Trim(name, ".0123456789") + "=" + string(content)
		}
		synced = append(synced, what+", there are "+string(one)+" "+string(two))
		return file.Sync()
	}}
	if err := disk.Write(folder, durable.Bytes("one", []byte("new")), durable.Bytes("two", []byte("2"))); err != nil {
		t.Fatal(err)
	}
	want := []string{"one=new, there are old ", "two=2, there are new ", "folder, there are new 2"}
	if diff := cmp.Diff(want, synced); diff != "" {
		t.Errorf("synced (-want +got):\n%s", diff)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

// What cannot be synced does not take the place of what was there.
func TestWrite_Fails_LeavesTheOldFile(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is full")
	for name, c := range map[string]struct {
		disk durable.Disk
		file durable.File
	}{
		"sync":  {durable.Disk{Sync: func(*os.File) error { return broken }}, durable.Bytes("one", []byte("new"))},
		"write": {durable.Disk{}, durable.File{Name: "one", Write: func(io.Writer) error { return broken }}},
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "one"), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.disk.Write(folder, c.file); !errors.Is(err, broken) || !strings.Contains(err.Error(),
			filepath.Join(folder, "one")) {
			t.Errorf("%s: %v", name, err)
		}
		entries, err := os.ReadDir(folder)
		content, _ := os.ReadFile(filepath.Join(folder, "one"))
		if err != nil || len(entries) != 1 || string(content) != "old" {
			t.Errorf("%s: %v, %v, %q", name, entries, err, content)
		}
	}
}

// A folder is there after a loss of power only if the folder above it knows its name, and so on to one that was there.
func TestMakeFolder_SyncsAllNewNames(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var synced []string
	disk := durable.Disk{Sync: func(file *os.File) error {
		name, err := filepath.Rel(root, file.Name())
		synced = append(synced, name)
		return errors.Join(err, file.Sync())
	}}
	for _, c := range []struct {
		make string
		want []string
	}{
		{"out/catalogue/run", []string{".", "out", "out/catalogue"}},
		{"out/catalogue/other/", []string{"out/catalogue"}},
		{"out/catalogue/run", nil},
	} {
		synced = nil
		if err := disk.MakeFolder(root+"/"+c.make, 0o755); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, synced); diff != "" {
			t.Errorf("%s: synced (-want +got):\n%s", c.make, diff)
		}
		if info, err := os.Stat(filepath.Join(root, c.make)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v, %v", c.make, info, err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := disk.MakeFolder(filepath.Join(root, "file", "below"), 0o755); err == nil {
		t.Error("a folder below a file is made")
	}
	broken := durable.Disk{Sync: func(*os.File) error { return os.ErrDeadlineExceeded }}
	if err := broken.MakeFolder(filepath.Join(root, "new"), 0o755); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("what cannot be synced is taken for made: %v", err)
	}
}

// Verdicts, reports and samples are written by this package alone, and the folder of a run is made by it.
func TestEvidence_IsWrittenDurably(t *testing.T) {
	t.Parallel()
	files := 0
	for _, folder := range []string{"verdict", "report", "metrics", "timeline"} {
		found, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			files++
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, other := range []string{"os.WriteFile(", "os.Create", "os.OpenFile(", "os.Rename(", "renameio.",
				"os.Mkdir"} {
				if strings.Contains(string(content), other) {
					t.Errorf("%s has %s: write evidence with durable.Disk", file, other)
				}
			}
		}
	}
	if files < 10 {
		t.Errorf("only %d files were looked at", files)
	}
}
