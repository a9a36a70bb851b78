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
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
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
	// Balancers are the addresses that load balancers get; the zero value for a range that is set aside for tests.
	Balancers netip.Prefix
	Clock     clock.Clock // nil means the real one
	Log       logr.Logger
}

// Server is the simulated cloud without its listeners.
type Server struct {
	options    Options
	log        logr.Logger
	lock       *os.File
	identities *identities
	db         *database
	blobs      *blobs.Store
	metrics    *metrics
}

// Open folds the ledger of the folder, which no other process may have open, and removes contents that no object has.
func Open(ctx context.Context, options Options) (*Server, error) {
	db := &database{clock: options.Clock, bootDelay: options.BootDelay, balancers: options.Balancers,
		faults: faultbook.New(), state: newState()}
	db.clock = cmp.Or[clock.Clock](db.clock, clock.RealClock{})
	db.bootDelay = cmp.Or(db.bootDelay, DefaultBootDelay)
	s := &Server{options: options, log: options.Log, db: db, metrics: newMetrics()}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) open(ctx context.Context) (err error) {
	if err := checkBalancers(s.options.Balancers); err != nil {
		return err
	}
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
	if s.db.ledger, err = ledger.Open(durable.Disk{}, path, s.db.state.apply); err != nil {
		return err
	}
	for _, row := range s.db.state.list(api.KindFaults) {
		s.db.faults.Set(*row.(*api.Fault), s.db.clock)
	}
	return s.blobs.RemoveAllBut(ctx, s.db.state.blobsInUse())
}

// Close releases the folder. Calls must have ended.
func (s *Server) Close() error {
	var errs []error
	if s.blobs != nil {
		errs = append(errs, s.blobs.Close())
	}
	if s.db.ledger != nil {
		errs = append(errs, s.db.ledger.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
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
