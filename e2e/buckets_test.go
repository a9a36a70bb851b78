package e2e

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// secretVariable holds the user's key for stores of objects, which no process of a landscape needs that keeps its
// buckets in files.
const secretVariable = "AWS_SECRET_ACCESS_KEY"

// s3 is an object store of this test.
type s3 struct {
	contents gofakes3.Backend
	url      string   // for --bucket-url
	keys     []string // for the environment
}

func serveS3(t *testing.T) *s3 {
	t.Helper()
	contents := s3mem.New()
	if err := contents.CreateBucket("contents"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(contents).Server())
	t.Cleanup(server.Close)
	return &s3{contents,
		fmt.Sprintf("s3://contents?region=eu-west-1&use_path_style=true&disable_https=true&prefix=ours/&endpoint=%s",
			server.URL),
		[]string{"AWS_ACCESS_KEY_ID=test", secretVariable + "=" + rand.Text()}}
}

// hasKeysInTheCloudAlone: no process of the landscape but the cloud has the keys of the store.
func (s *s3) hasKeysInTheCloudAlone(t *testing.T, l *landscape) {
	state, err := rundir.At("e2e", filepath.Join(l.home, "e2e")).ReadState()
	if err != nil {
		t.Fatal(err)
	}
	programs, err := process.ProgramsBelow(state.Supervisor.PID)
	if err != nil {
		t.Fatal(err)
	}
	var having []string
	for _, one := range programs {
		if one.Env[secretVariable] != "" {
			having = append(having, strings.Join(one.Args[:min(len(one.Args), 2)], " "))
		}
	}
	if len(programs) < 20 || len(having) != 1 || !strings.HasSuffix(having[0], "transplant cloud") {
		t.Errorf("of %d processes these have the keys: %q, want the cloud alone", len(programs), having)
	}
}

// hasBackups of the landscape's shoot, all of them: its run directory has none.
func (s *s3) hasBackups(t *testing.T, l *landscape) {
	list := func(prefix string) int {
		t.Helper()
		found, err := s.contents.ListBucket("contents", &gofakes3.Prefix{HasPrefix: true, Prefix: prefix},
			gofakes3.ListBucketPage{})
		if err != nil {
			t.Fatal(err)
		}
		return len(found.Contents)
	}
	if ours, all := list("ours/e2e/"), list(""); ours == 0 || ours != all {
		t.Errorf("%d contents are in the landscape's folder, of %d", ours, all)
	}
	if _, err := os.Stat(filepath.Join(l.home, "e2e", "cloud", "objects")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the run directory has contents, too: %v", err)
	}
}
