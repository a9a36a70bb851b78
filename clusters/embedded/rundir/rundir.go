// Package rundir is the folder of one landscape: where it is, who owns it, what was written into it, and how what a
// dead landscape left behind is cleared away.
//
// It starts no processes and knows no clusters.
package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// HomeVariable names the environment variable that says where the folders of landscapes are.
const HomeVariable = "TRANSPLANT_HOME"

// DefaultName is the landscape meant when none is named.
const DefaultName = "default"

// Errors that callers distinguish.
var (
	ErrInUse    = errors.New("the landscape is up already")
	ErrForeign  = errors.New("the folder is not empty and was not made by transplant")
	ErrDiskFull = errors.New("too little space on the disk")
	ErrNotUp    = errors.New("the landscape is not up")
)

// marker is the file that distinguishes a folder of ours from any other, before something is deleted.
const marker = ".transplant-landscape"

// Dir is the folder of one landscape. The zero value is not usable.
type Dir struct {
	Name string
	Path string
}

// Home is $TRANSPLANT_HOME, or transplant below $XDG_STATE_HOME, or ~/.local/state/transplant.
func Home() (string, error) {
	if home := os.Getenv(HomeVariable); home != "" {
		return filepath.Abs(home)
	}
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "transplant"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the folder of landscapes: %w: set %s", err, HomeVariable)
	}
	return filepath.Join(home, ".local", "state", "transplant"), nil
}

// Of is the folder of a landscape below the home folder. Names are DNS labels.
func Of(home, name string) (Dir, error) {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return Dir{}, fmt.Errorf("name the landscape %q: %s", name, problems[0])
	}
	return Dir{Name: name, Path: filepath.Join(home, name)}, nil
}

// At is the folder of a landscape at a place of its own.
func At(name, path string) Dir { return Dir{Name: name, Path: path} }

// Join is a path inside.
func (d Dir) Join(parts ...string) string {
	return filepath.Join(append([]string{d.Path}, parts...)...)
}

// Socket is the supervisor's unix socket.
func (d Dir) Socket() string { return d.Join("supervisor.sock") }

// Log is the supervisor's log.
func (d Dir) Log() string { return d.Join("supervisor.log") }

const lockSuffix = ".lock"

// lockPath lies beside the folder, so that the lock outlives the folder's removal.
func (d Dir) lockPath() string { return d.Path + lockSuffix }

// Lock is the ownership of a run directory, kept until the process ends or calls Unlock.
type Lock struct{ file *os.File }

// How often, and with what pause, a lock is tried before it is called another's.
const (
	lockTries = 10
	lockPause = 10 * time.Millisecond
)

// TakeLock makes the caller the owner of the folder, or returns ErrInUse. The kernel takes the lock back when the owner
// dies, however it dies; children do not inherit it.
func (d Dir) TakeLock() (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(d.Path), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of landscapes: %w", err)
	}
	file, err := os.OpenFile(d.lockPath(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of landscape %q: %w", d.Name, err)
	}
	// Who only asks whether the folder is owned holds the lock for a moment.
	for range lockTries {
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		time.Sleep(lockPause)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		_ = file.Close()
		return nil, d.inUse()
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock the landscape %q: %w", d.Name, err)
	}
	if err := writeOwner(file); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("sign the lock of landscape %q: %w", d.Name, err)
	}
	return &Lock{file: file}, nil
}

func (d Dir) inUse() error {
	return fmt.Errorf("lock the landscape %q: %w: end it with \"transplant down --landscape %s\", or choose another name",
		d.Name, ErrInUse, d.Name)
}

// Living are the names of the landscapes below a home folder that somebody owns, sorted.
func Living(home string) ([]string, error) {
	locks, err := filepath.Glob(filepath.Join(home, "*"+lockSuffix))
	if err != nil {
		return nil, fmt.Errorf("look for landscapes in %q: %w", home, err)
	}
	var names []string
	for _, lock := range locks {
		name := strings.TrimSuffix(filepath.Base(lock), lockSuffix)
		owned, err := At(name, filepath.Join(home, name)).Owned()
		if err != nil {
			return nil, err
		}
		if owned {
			names = append(names, name)
		}
	}
	slices.Sort(names) // the locks sort otherwise: run-2.lock comes before run.lock
	return names, nil
}

// writeOwner signs the lock, for those who want the landscape to end.
func writeOwner(file *os.File) error {
	content, err := json.Marshal(process.Self())
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.WriteAt(content, 0)
	return err
}

// Owner is the process that signed the lock last. It owns the folder if Owned says that anybody does.
func (d Dir) Owner() (process.ID, error) {
	content, err := os.ReadFile(d.lockPath())
	if err != nil {
		return process.ID{}, fmt.Errorf("read the lock of landscape %q: %w", d.Name, err)
	}
	var owner process.ID
	if err := json.Unmarshal(content, &owner); err != nil {
		return process.ID{}, fmt.Errorf("read the lock of landscape %q: %w", d.Name, err)
	}
	return owner, nil
}

// Unlock gives the folder up. It does not leave that to the close: a child that is just being forked has the file open,
// and with it the lock, until it executes its program.
func (l *Lock) Unlock() error {
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}

// Owned says whether some living process owns the folder.
func (d Dir) Owned() (bool, error) {
	file, err := os.OpenFile(d.lockPath(), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open the lock of landscape %q: %w", d.Name, err)
	}
	// A shared lock: two who ask at the same time do not take each other for the owner.
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, file.Close()
	}
	if err != nil {
		return false, errors.Join(fmt.Errorf("ask for the lock of landscape %q: %w", d.Name, err), file.Close())
	}
	return false, (&Lock{file: file}).Unlock()
}

// needBytes is the least that a landscape is started with: three idle clusters take a tenth of it.
const needBytes = 500 << 20

// CheckSpace returns ErrDiskFull when a landscape would not fit.
func (d Dir) CheckSpace() error { return d.checkSpace(needBytes) }

// leftBytes is what a landscape that runs leaves of a disk, or it has filled it.
const leftBytes = 16 << 20

// CheckFilled returns ErrDiskFull, with what would be enough, when next to nothing is free.
func (d Dir) CheckFilled() error {
	if d.checkSpace(leftBytes) == nil {
		return nil
	}
	return d.CheckSpace()
}

func (d Dir) checkSpace(need uint64) error {
	var disk syscall.Statfs_t
	parent := filepath.Dir(d.Path)
	if err := syscall.Statfs(parent, &disk); err != nil {
		return fmt.Errorf("look at the disk of %q: %w", parent, err)
	}
	if free := disk.Bavail * uint64(disk.Bsize); free < need {
		return fmt.Errorf("start a landscape in %q: %w: %d MiB are free, %d MiB are needed: clear some, or let %s name "+
			"another folder",
			d.Path, ErrDiskFull, free>>20, need>>20, HomeVariable)
	}
	return nil
}

// Acquire makes the caller the owner of a fresh folder. What a dead landscape left there is ended and removed first;
// cleared says so. On error the caller owns nothing.
func (d Dir) Acquire() (lock *Lock, cleared bool, err error) {
	if lock, err = d.TakeLock(); err != nil {
		return nil, false, err
	}
	if cleared, err = d.Renew(); err != nil {
		return nil, cleared, errors.Join(err, lock.Unlock())
	}
	return lock, cleared, nil
}

// Renew makes the folder a fresh one, for the owner of the lock. What a dead or ended landscape left there is ended and
// removed first; cleared says so.
func (d Dir) Renew() (cleared bool, err error) {
	if cleared, err = d.Clear(); err != nil {
		return cleared, err
	}
	return cleared, d.make()
}

func (d Dir) make() error {
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		return fmt.Errorf("make the run directory: %w", err)
	}
	if err := os.WriteFile(d.Join(marker), nil, 0o644); err != nil {
		return fmt.Errorf("mark the run directory: %w", err)
	}
	return nil
}

// Kubeconfig is the path of the kubeconfig of an actor for a target, a cluster or the cloud.
func (d Dir) Kubeconfig(actor, target string) string {
	return d.Join("kubeconfigs", actor+"."+target+".kubeconfig")
}

// WriteKubeconfig keeps the kubeconfig of an actor for a target, readable by the owner only.
func (d Dir) WriteKubeconfig(actor, target string, content []byte) error {
	path := d.Kubeconfig(actor, target)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of kubeconfigs: %w", err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("write the kubeconfig of actor %q for %q: %w", actor, target, err)
	}
	return nil
}
