package cloud

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Outcomes of a recorded call; a refused one has its error's code as outcome.
const (
	OutcomeOK       = "OK"       // it took effect, durably, before it was answered
	OutcomeReplayed = "Replayed" // a creation with a client token that had been used before: no effect
)

// Verbs of recorded calls.
const (
	VerbCreate   = "create"
	VerbGet      = "get"
	VerbList     = "list"
	VerbUpdate   = "update"
	VerbDelete   = "delete"
	VerbReboot   = "reboot"
	VerbPut      = "put" // of a record set or an object: create or replace
	VerbFence    = "fence"
	VerbSet      = "set"  // of a fault
	VerbHeal     = "heal" // of a fault
	VerbSnapshot = "snapshot"
	VerbBatch    = "batch" // of copies and deletions of objects, each of which is recorded as what it is
)

// LedgerEntry records one mutating call, refused ones included. The ledger is append-only: the state of the cloud is
// the fold of the entries with outcome OK.
type LedgerEntry struct {
	Seq      int64     `json:"seq"` // from 1, without gaps
	Time     time.Time `json:"time"`
	Identity string    `json:"identity"` // whose token it was; empty when unknown
	Scope
	Verb   string `json:"verb"`
	Kind   string `json:"kind"`
	ID     string `json:"id,omitempty"`
	Name   string `json:"name,omitempty"`
	Before string `json:"before,omitempty"` // digest of the object before the call, empty when absent
	After  string `json:"after,omitempty"`  // digest after it

	Outcome   string `json:"outcome"`
	Message   string `json:"message,omitempty"`   // of a refusal
	Fault     string `json:"fault,omitempty"`     // the injected fault that refused the call or dropped its answer
	RequestID string `json:"requestID,omitempty"` // as in the error that the caller got

	// ClientToken and Request let a creation be recognised again.
	ClientToken string `json:"clientToken,omitempty"`
	Request     string `json:"request,omitempty"` // digest of the body
	// Object is the object after the call. What only some may read (user data) is left out of what the API answers.
	Object json.RawMessage `json:"object,omitempty"`
}

// Took says whether the call changed the cloud.
func (e LedgerEntry) Took() bool { return e.Outcome == OutcomeOK }

// LedgerQuery chooses entries.
type LedgerQuery struct {
	After int64         // only entries behind this number
	Kind  string        // only of this kind, if set
	Wait  time.Duration // how long to wait for the first entry when there is none yet, at most 60 s
}

func (q LedgerQuery) values() url.Values {
	values := url.Values{"after": {strconv.FormatInt(q.After, 10)}}
	if q.Kind != "" {
		values.Set("kind", q.Kind)
	}
	if q.Wait > 0 {
		values.Set("wait", q.Wait.String())
	}
	return values
}

// Ledger reads the entries that are there, waiting for the first if asked to. Only an admin or an observer may.
func (c *Client) Ledger(ctx context.Context, query LedgerQuery) ([]LedgerEntry, error) {
	var entries []LedgerEntry
	for entry, err := range c.entries(ctx, query.values()) {
		if err != nil {
			return entries, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// FollowLedger yields every entry behind the number, and then each new one as it is written, until ctx is done or the
// connection ends, which is an error.
func (c *Client) FollowLedger(ctx context.Context, query LedgerQuery) iter.Seq2[LedgerEntry, error] {
	values := query.values()
	values.Set("follow", "true")
	return func(yield func(LedgerEntry, error) bool) {
		for entry, err := range c.entries(ctx, values) {
			if !yield(entry, err) || err != nil {
				return
			}
		}
		yield(LedgerEntry{}, fmt.Errorf("follow the ledger: %w", io.ErrUnexpectedEOF))
	}
}

func (c *Client) entries(ctx context.Context, values url.Values) iter.Seq2[LedgerEntry, error] {
	return func(yield func(LedgerEntry, error) bool) {
		answer, err := c.send(ctx, http.MethodGet, []string{"ledger"}, values, nil, nil)
		if err != nil {
			yield(LedgerEntry{}, err)
			return
		}
		defer answer.Body.Close()
		decoder := json.NewDecoder(bufio.NewReader(answer.Body))
		for {
			var entry LedgerEntry
			err := decoder.Decode(&entry)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(LedgerEntry{}, fmt.Errorf("read the ledger: %w", err))
				return
			}
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// Fence is the highest epoch the cloud has seen of a shoot. Mutating calls with a lower one are refused.
type Fence struct {
	Meta        // the id is the shoot
	Epoch int64 `json:"epoch"`
}

// Fence raises the shoot's epoch without any other effect. Only an admin may: an owner's first call in its scope does
// so (docs/ownership.md#o5). A lower epoch than the one known answers StaleEpoch, the same is no error.
func (c *Client) Fence(ctx context.Context, scope Scope) (*Fence, error) {
	return call[Fence](ctx, c, request{method: http.MethodPut, path: []string{KindFences, scope.Shoot},
		body: Fence{Epoch: scope.Epoch}})
}

// Fences lists the highest epochs of all shoots.
func (c *Client) Fences(ctx context.Context) ([]Fence, error) {
	return listOf[Fence](ctx, c, request{method: http.MethodGet, path: []string{KindFences}})
}

// Snapshot streams a copy of the whole cloud as a tar archive, from which `transplant cloud --restore` starts another.
// It is of one moment; calls go on while it is read. Only an admin may.
func (c *Client) Snapshot(ctx context.Context) (io.ReadCloser, error) {
	answer, err := c.send(ctx, http.MethodPost, []string{"snapshot"}, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}
