package worldtest

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/transplant-sim/transplant/api/cloud"
)

// ledger is the cloud of a world: it has nothing but the calls to it.
type ledger struct {
	mu      sync.Mutex
	entries []cloud.LedgerEntry
}

var errInvisible = errors.New("the cloud of this world has only a ledger")

// ServeHTTP answers clients of the cloud.
func (l *ledger) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/ledger" {
		answer(rw, http.StatusOK, object{"items": []object{}})
		return
	}
	after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		http.Error(rw, errInvisible.Error(), http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	entries := slices.Clone(l.entries)
	l.mu.Unlock()
	for _, entry := range entries {
		if entry.Seq > after {
			_ = json.NewEncoder(rw).Encode(entry)
		}
	}
}

// add a call about a shoot.
func (l *ledger) add(shoot, verb, kind, id string, epoch int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, cloud.LedgerEntry{
		Seq: int64(len(l.entries) + 1), Time: time.Now(), Identity: "extensions",
		Scope: cloud.Scope{Shoot: technicalID(shoot), Epoch: epoch},
		Verb:  verb, Kind: kind, ID: id, Outcome: cloud.OutcomeOK,
	})
}
