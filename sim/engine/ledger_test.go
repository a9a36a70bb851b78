package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/api/cloud"
)

type entries struct {
	all []cloud.LedgerEntry
	err error
}

func (e entries) Ledger(context.Context, cloud.LedgerQuery) ([]cloud.LedgerEntry, error) {
	return e.all, e.err
}

func TestLedgerAt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ledger entries
		want   int64
		fails  string
	}{
		"Empty":   {},
		"Entries": {ledger: entries{all: []cloud.LedgerEntry{{Seq: 1}, {Seq: 2}, {Seq: 3}}}, want: 3},
		"Away":    {ledger: entries{err: errors.New("away")}, fails: "read the cloud's ledger: away"},
	} {
		at, err := LedgerAt(t.Context(), c.ledger)
		if at != c.want || (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %d, %v; want %d, %q", name, at, err, c.want, c.fails)
		}
	}
}
