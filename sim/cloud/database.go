package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/cloud/faultbook"
	"github.com/transplant-sim/transplant/sim/cloud/ledger"
	"github.com/transplant-sim/transplant/sim/cloud/refusal"
)

// call is what is known of a call before it is carried out.
type call struct {
	identity  identity
	scope     api.Scope
	verb      string
	kind      string
	id        string
	requestID string
	harm      faultbook.Harm
}

// subject is what faults can match of the call.
func (c *call) subject() faultbook.Subject {
	return faultbook.Subject{Verb: c.verb, Kind: c.kind, ID: c.id, Identity: c.identity.name, Shoot: c.scope.Shoot}
}

// harmed is what faults can match of the call, and what they do to it.
func (c *call) harmed() faultbook.Harmed {
	return faultbook.Harmed{Subject: c.subject(), Harm: &c.harm}
}

// change is what a call wants done to one row: nil before means created, nil after means gone.
type change struct {
	id, name      string
	before, after api.Resource
	clientToken   string
	request       string
	replayed      bool // there is nothing to do, the answer is after
}

// database is the ledger and the state that is folded from it. Only it writes entries and applies them.
type database struct {
	clock     clock.Clock
	bootDelay time.Duration
	balancers netip.Prefix
	faults    *faultbook.Book // those that are active, among them quotas
	ledger    *ledger.File

	write sync.Mutex   // locked by the one call that decides, records and applies
	read  sync.RWMutex // guards state; locked for writing only while an entry on disk is applied
	state *state
}

// look runs a reader under the lock. What it returns may be used afterwards: rows are never changed.
func look[T any](d *database, reader func(*view) (T, error)) (T, error) {
	d.read.RLock()
	defer d.read.RUnlock()
	return reader(d.view())
}

func (d *database) view() *view {
	return &view{state: d.state, now: d.clock.Now(), bootDelay: d.bootDelay, balancers: d.balancers}
}

// mutate is the only way to write: it decides on the state nobody else can change meanwhile, puts the entry on disk
// and applies it. Refusals are recorded too. It returns the row as it is afterwards.
func (d *database) mutate(c *call, decide func(*view) (change, error)) (api.Resource, error) {
	d.write.Lock()
	defer d.write.Unlock()
	wanted, err := d.decide(c, decide)
	if err != nil {
		return nil, errors.Join(err, d.recordRefusal(c, err))
	}
	entry, err := d.newEntry(c, wanted)
	if err != nil {
		return nil, err
	}
	if err := d.ledger.Append(entry); err != nil {
		return nil, err
	}
	if wanted.replayed {
		return wanted.after, nil
	}
	d.read.Lock()
	defer d.read.Unlock()
	if err := d.state.apply(entry); err != nil {
		return nil, err
	}
	return d.state.rows[c.kind][wanted.id], nil
}

func (d *database) decide(c *call, decide func(*view) (change, error)) (change, error) {
	// Rows are replaced only under the write lock, which is held, so the read lock is not needed.
	if known := d.state.epoch(c.scope.Shoot); c.scope.Epoch != 0 && c.scope.Epoch < known {
		return change{}, refusal.StaleEpoch(c.scope, known)
	}
	if err := d.view().checkEpoch(c); err != nil {
		return change{}, err
	}
	if c.verb == api.VerbCreate {
		if err := d.faults.Quota(c.subject(), &c.harm, d.live(c.kind)); err != nil {
			return change{}, err
		}
	}
	wanted, err := decide(d.view())
	if err != nil || wanted.replayed {
		return wanted, err
	}
	return wanted, d.view().checkRights(c, wanted)
}

// live is what a quota counts.
func (d *database) live(kind string) (n int) {
	for _, row := range d.state.rows[kind] {
		if m, ok := row.(*api.Machine); !ok || m.State != api.MachineTerminated {
			n++
		}
	}
	return n
}

func (d *database) newEntry(c *call, wanted change) (*api.LedgerEntry, error) {
	entry := d.entry(c)
	entry.ID, entry.Name, entry.Outcome = wanted.id, wanted.name, api.OutcomeOK
	entry.ClientToken, entry.Request = wanted.clientToken, wanted.request
	if wanted.replayed {
		entry.Outcome = api.OutcomeReplayed
		return entry, nil
	}
	var err error
	if entry.Before, _, err = digest(wanted.before); err != nil {
		return nil, err
	}
	entry.After, entry.Object, err = digest(wanted.after)
	return entry, err
}

func (d *database) entry(c *call) *api.LedgerEntry {
	return &api.LedgerEntry{
		Time: d.clock.Now().UTC(), Identity: c.identity.name, Scope: c.scope, Verb: c.verb, Kind: c.kind, ID: c.id,
		Fault: c.harm.Fault, RequestID: c.requestID,
	}
}

// recordRefusal writes down a mutating call that took no effect.
func (d *database) recordRefusal(c *call, cause error) error {
	entry := d.entry(c)
	refused := refusal.Of(cause)
	entry.Outcome, entry.Message = string(refused.Code), refused.Message
	return d.ledger.Append(entry)
}

// refuseBefore records a call that was refused before it came to mutate.
func (d *database) refuseBefore(c *call, cause error) error {
	d.write.Lock()
	defer d.write.Unlock()
	return errors.Join(cause, d.recordRefusal(c, cause))
}

// moment is the length of the ledger, and the objects there were at it.
func (d *database) moment() (int64, []*storedObject) {
	d.write.Lock()
	defer d.write.Unlock()
	objects := make([]*storedObject, 0, len(d.state.rows[api.KindObjects]))
	for _, row := range d.state.rows[api.KindObjects] {
		objects = append(objects, row.(*storedObject))
	}
	slices.SortFunc(objects, func(a, b *storedObject) int { return strings.Compare(a.ID, b.ID) })
	return d.ledger.Size(), objects
}

// digest is the hash of a row, with its version left out, so that a change back gives the same digest again.
func digest(row api.Resource) (string, []byte, error) {
	if row == nil {
		return "", nil, nil
	}
	content, err := json.Marshal(row)
	if err != nil {
		return "", nil, fmt.Errorf("marshal a row: %w", err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(content, &fields); err != nil {
		return "", nil, fmt.Errorf("read a row: %w", err)
	}
	delete(fields, "version")
	stable, err := json.Marshal(fields)
	if err != nil {
		return "", nil, fmt.Errorf("marshal a row: %w", err)
	}
	return "sha256:" + hexDigest(stable), stable, nil
}

func hexDigest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
