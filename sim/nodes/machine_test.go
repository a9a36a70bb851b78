package nodes

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/api/cloud"
)

// If an agent ends before it has written all files of a configuration, the next configuration removes those that it
// has written. What the machine has from elsewhere stays.
func TestApplyFiles_EndedInTheMiddle_NextConfigurationRemovesWhatIsLeft(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	m := &machine{data: &cloud.NodeUserData{NodeName: "node-1"}}
	m.ID = "i-1"
	file := func(path string) cloud.File { return cloud.File{Path: path, Content: []byte("x")} }
	others := file("/etc/others")
	others.HostName = "node-2"
	if err := place(filepath.Join(root, m.ID), "/etc/stays", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	onDisk := func() []string {
		entries, err := os.ReadDir(filepath.Join(root, m.ID, "etc"))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return names
	}
	for _, step := range []struct {
		files []cloud.File
		fails bool
		want  []string
	}{
		{files: []cloud.File{file("/etc/a"), others}, want: []string{"a", "stays"}},
		// A path below a file cannot be written: it ends there.
		{files: []cloud.File{file("/etc/b"), file("/etc/stays/c")}, fails: true, want: []string{"a", "b", "stays"}},
		{files: []cloud.File{file("/etc/d")}, want: []string{"d", "stays"}},
	} {
		if err := m.applyFiles(root, step.files); (err != nil) != step.fails {
			t.Fatalf("%v: %v", step.files, err)
		}
		if diff := cmp.Diff(step.want, onDisk()); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", step.files, diff)
		}
	}
}
