package kind

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Logs of pods are kept as a process node has them; what is no log, or would be written elsewhere, is not.
func TestUnpackLogs(t *testing.T) {
	t.Parallel()
	var archive bytes.Buffer
	files := tar.NewWriter(&archive)
	add := func(kind byte, name, content string) {
		t.Helper()
		header := &tar.Header{Typeflag: kind, Name: name, Mode: 0o600, Size: int64(len(content)), Linkname: "/etc/passwd"}
		if err := files.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	const pod = "pods/shoot--p--alpha_etcd-main-0_7ce4f2af-a7cf-4d0c-9b3f-0123456789ab"
	add(tar.TypeDir, pod+"/guard", "")
	add(tar.TypeReg, pod+"/guard/0.log", "first\n")
	add(tar.TypeReg, pod+"/guard/1.log", "second\n")
	add(tar.TypeReg, pod+"/etcd/0.log.20261122-041500", "rotated\n")
	add(tar.TypeReg, "pods/kube-system_etcd-node_0123456789abcdef/etcd/0.log", "its own\n")
	add(tar.TypeSymlink, pod+"/link/0.log", "")
	add(tar.TypeReg, pod+"/../0.log", "elsewhere\n")
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	content, folder := archive.Bytes(), t.TempDir()
	if err := unpackLogs(bytes.NewReader(content), folder); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"7ce4f2af-a7cf-4d0c-9b3f-0123456789ab/containers/guard/0.log":                "first\n",
		"7ce4f2af-a7cf-4d0c-9b3f-0123456789ab/containers/guard/1.log":                "second\n",
		"7ce4f2af-a7cf-4d0c-9b3f-0123456789ab/containers/etcd/0.log.20261122-041500": "rotated\n",
		"0123456789abcdef/containers/etcd/0.log":                                     "its own\n",
	}
	if diff := cmp.Diff(want, readFiles(t, folder)); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
	err := unpackLogs(bytes.NewReader(content[:700]), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "unexpected EOF") {
		t.Errorf("of half an archive: %v", err)
	}
}

func readFiles(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		found[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
