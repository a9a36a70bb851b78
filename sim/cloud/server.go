// Package cloud is the server behind api/cloud: `transplant cloud`, the simulated cloud with its DNS server.
//
// It keeps what a cloud bill would list (networks, machines, load balancers), what a control plane needs of a cloud
// (DNS zones, buckets), and the evidence (an append-only ledger of every mutating call). It moves no packets, runs no
// machines (sim/nodes does) and judges nothing.
//
// The ledger is the source of truth. The state is the fold of its entries, live and after a restart by the same code;
// a call is answered when its entry is on disk. Contents of objects lie in a blob store, the ledger names them.
package cloud

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/cloud/blobs"
	"github.com/transplant-sim/transplant/sim/cloud/faultbook"
	"github.com/transplant-sim/transplant/sim/cloud/ledger"
	"github.com/transplant-sim/transplant/sim/durable"
)

// DefaultBootDelay is how long a machine boots when nobody says otherwise.
const DefaultBootDelay = 200 * time.Millisecond

// Options of a server.
type Options struct {
	Dir string // where the ledger and, by default, the contents of objects are kept; of this server alone
	// where the contents of objects are kept, as gocloud.dev/blob opens it; nobody else may write there
	BucketURL string
	Tokens    string        // the file that says whose a token is, see TokenFile
	Restore   string        // a snapshot to start from; the folder must be new then
	BootDelay time.Duration // 0 means DefaultBootDelay
	Clock     clock.Clock   // nil means the real one
	Log       logr.Logger
}

// Server is the simulated cloud without its listeners.
type Server struct {
	options    Options
	clock      clock.Clock
	log        logr.Logger
	lock       *os.File
	identities *identities
	ledger     *ledger.File
	blobs      *blobs.Store
	faults     *faultbook.Book
	metrics    *metrics

	write sync.Mutex   // held by the one call that decides, records and applies
	read  sync.RWMutex // guards state; held for writing only while an entry on disk is applied
	state *state
}

// Open folds the ledger of the folder, which no other process may have open, and removes contents that no object has.
func Open(ctx context.Context, options Options) (*Server, error) {
	s := &Server{options: options, clock: options.Clock, log: options.Log, state: newState(), faults: faultbook.New(),
		metrics: newMetrics()}
	if s.clock == nil {
		s.clock = clock.RealClock{}
	}
	if s.options.BootDelay == 0 {
		s.options.BootDelay = DefaultBootDelay
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) open(ctx context.Context) (err error) {
	dir := s.options.Dir
	if err := (durable.Disk{}).MakeFolder(dir, 0o700); err != nil {
		return fmt.Errorf("make the cloud's folder: %w", err)
	}
	if s.lock, err = lockFolder(dir); err != nil {
		return err
	}
	if s.identities, err = newIdentities(s.options.Tokens); err != nil {
		return err
	}
	if s.blobs, err = blobs.Open(ctx, s.options.BucketURL, dir, s.log); err != nil {
		return err
	}
	path := filepath.Join(dir, "ledger.jsonl")
	if s.options.Restore != "" {
		if err := restoreSnapshot(ctx, s.options.Restore, path, s.blobs); err != nil {
			return err
		}
	}
	if s.ledger, err = ledger.Open(durable.Disk{}, path, s.state.apply); err != nil {
		return err
	}
	for _, row := range s.state.list(api.KindFaults) {
		s.faults.Set(*row.(*api.Fault), s.clock)
	}
	return s.blobs.RemoveAllBut(ctx, s.blobsInUse())
}

// blobsInUse is the keys of all contents that an object has.
func (s *Server) blobsInUse() map[string]bool {
	used := map[string]bool{}
	for _, row := range s.state.rows[api.KindObjects] {
		used[row.(*storedObject).Blob] = true
	}
	return used
}

// Close releases the folder. Calls must have ended.
func (s *Server) Close() error {
	var errs []error
	if s.blobs != nil {
		errs = append(errs, s.blobs.Close())
	}
	if s.ledger != nil {
		errs = append(errs, s.ledger.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// look runs a reader under the lock. What it returns may be used afterwards: rows are never changed.
func look[T any](s *Server, reader func(*view) (T, error)) (T, error) {
	s.read.RLock()
	defer s.read.RUnlock()
	return reader(s.view())
}

func (s *Server) view() *view {
	return &view{state: s.state, now: s.clock.Now(), bootDelay: s.options.BootDelay}
}

// lockFolder keeps two servers from writing one ledger. The lock goes with the process.
func lockFolder(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the cloud's folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the cloud's folder %q, another process has it: %w", dir, err), file.Close())
	}
	return file, nil
}
