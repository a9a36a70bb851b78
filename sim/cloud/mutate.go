package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/cloud/faultbook"
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

// change is what a call wants done to one row: nil before means created, nil after means gone.
type change struct {
	id, name      string
	before, after api.Resource
	clientToken   string
	request       string
	replayed      bool // there is nothing to do, the answer is after
}

// mutate is the only way to write: it decides on the state nobody else can change meanwhile, puts the entry on disk
// and applies it. Refusals are recorded too. It returns the row as it is afterwards.
func (s *Server) mutate(c *call, decide func(*view) (change, error)) (api.Resource, error) {
	s.write.Lock()
	defer s.write.Unlock()
	wanted, err := s.decide(c, decide)
	if err != nil {
		return nil, errors.Join(err, s.recordRefusal(c, err))
	}
	entry, err := s.newEntry(c, wanted)
	if err != nil {
		return nil, err
	}
	if err := s.ledger.Append(entry); err != nil {
		return nil, err
	}
	if wanted.replayed {
		return wanted.after, nil
	}
	s.read.Lock()
	defer s.read.Unlock()
	if err := s.state.apply(entry); err != nil {
		return nil, err
	}
	return s.state.rows[c.kind][wanted.id], nil
}

func (s *Server) decide(c *call, decide func(*view) (change, error)) (change, error) {
	// Rows are replaced only under the write lock, which is held, so the read lock is not needed.
	if known := s.state.epoch(c.scope.Shoot); c.scope.Epoch != 0 && c.scope.Epoch < known {
		return change{}, refusal.StaleEpoch(c.scope, known)
	}
	if err := s.view().checkEpoch(c); err != nil {
		return change{}, err
	}
	if c.verb == api.VerbCreate {
		if err := s.faults.Quota(c.subject(), &c.harm, len(s.live(c.kind))); err != nil {
			return change{}, err
		}
	}
	wanted, err := decide(s.view())
	if err != nil || wanted.replayed {
		return wanted, err
	}
	return wanted, s.view().checkRights(c, wanted)
}

// live is what a quota counts.
func (s *Server) live(kind string) []api.Resource {
	rows := make([]api.Resource, 0, len(s.state.rows[kind]))
	for _, row := range s.state.rows[kind] {
		if m, ok := row.(*api.Machine); !ok || m.State != api.MachineTerminated {
			rows = append(rows, row)
		}
	}
	return rows
}

func (s *Server) newEntry(c *call, wanted change) (*api.LedgerEntry, error) {
	entry := s.entry(c)
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

func (s *Server) entry(c *call) *api.LedgerEntry {
	return &api.LedgerEntry{
		Time: s.clock.Now().UTC(), Identity: c.identity.name, Scope: c.scope, Verb: c.verb, Kind: c.kind, ID: c.id,
		Fault: c.harm.Fault, RequestID: c.requestID,
	}
}

// recordRefusal writes down a mutating call that took no effect.
func (s *Server) recordRefusal(c *call, cause error) error {
	entry := s.entry(c)
	refused := refusal.Of(cause)
	entry.Outcome, entry.Message = string(refused.Code), refused.Message
	return s.ledger.Append(entry)
}

// refuseBefore records a call that was refused before it came to mutate.
func (s *Server) refuseBefore(c *call, cause error) error {
	s.write.Lock()
	defer s.write.Unlock()
	return errors.Join(cause, s.recordRefusal(c, cause))
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
