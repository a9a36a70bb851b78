package actors

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofrs/flock"
	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/controllers/outside"
)

// Two control planes outside any seed never have one address, and one that has ended leaves its own to the next.
func TestFreeAddress_OneIsTaken_TheNextIsAnother(t *testing.T) {
	t.Parallel()
	dir := rundir.At("test", t.TempDir())
	if err := os.MkdirAll(dir.Join("outside"), 0o700); err != nil {
		t.Fatal(err)
	}
	take := func() (string, func() error) {
		at, release, err := Outside{}.freeAddress(dir)
		if err != nil {
			t.Fatal(err)
		}
		return at.String(), release
	}
	first, release := take()
	second, _ := take()
	if err := release(); err != nil {
		t.Error(err)
	}
	if third, _ := take(); first == second || third != first {
		t.Errorf("the addresses are %s, %s, and after the first has ended %s", first, second, third)
	}
}

// Nothing stays of a command that was killed.
func TestClearOutside_CommandWasKilled_BothFoldersGo(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "alpha")
	if err := clearOutside(folder); err != nil {
		t.Errorf("of none: %v", err)
	}
	temporary, err := newTemporary(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(temporary, "socket"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := clearOutside(folder); err != nil {
		t.Error(err)
	}
	for _, gone := range []string{folder, temporary} {
		if _, err := os.Lstat(gone); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
}

// A second command for a shoot does not run it, too. It says what it could do instead.
func TestHandOverFrom_NoSeedIsNamed_SaysThatAnotherRunsIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "alpha.lock")
	another := flock.New(path)
	defer another.Close() // the garbage collector closes a file that nobody refers to, and with it goes its lock
	if first, err := takeLock(t.Context(), another); !first || err != nil {
		t.Fatalf("the first command: %t, %v", first, err)
	}
	lock := flock.New(path)
	if second, err := takeLock(t.Context(), lock); second || err != nil {
		t.Errorf("a second command: %t, %v", second, err)
	}
	err := handOverFrom(t.Context(), lock, nil, types.NamespacedName{Namespace: "garden-p", Name: "alpha"}, "")
	owned, is := errors.AsType[*outside.OwnedError](err)
	if !is || owned.ExitCode() != outside.ExitOwned || !strings.Contains(err.Error(),
		"another command runs it: give it to a seed with --hand-over SEED") {
		t.Errorf("got %v", err)
	}
}
