package ownership

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Record is what an authority holds for one shoot (docs/ownership.md#spec-9-1). The zero Record means that there is
// none.
type Record struct {
	// Owner is the UID of the owning Seed, or Nobody.
	Owner string
	// Epoch grows with every change of owner and is never used twice.
	Epoch int64
	// Seed is the owner's name. It is for people: a seed rebuilt under its name is another owner.
	Seed string
}

// Nobody owns a shoot that was deleted: the record stays, so that no epoch is used twice under the shoot's name.
const Nobody = "none"

// Retired reports whether the shoot was deleted by its last owner: all epochs up to this one are over.
func (r Record) Retired() bool { return r.Owner == Nobody }

// Absent reports whether the authority has no record.
func (r Record) Absent() bool { return r == Record{} }

// Names reports whether the record gives this epoch to this owner.
func (r Record) Names(owner string, epoch int64) bool { return r.Owner == owner && r.Epoch == epoch }

// String is the text of the record in DNS: "owner=<uid> epoch=<n> seed=<name>".
func (r Record) String() string {
	if r.Absent() {
		return "absent"
	}
	return fmt.Sprintf("owner=%s epoch=%d seed=%s", r.Owner, r.Epoch, r.Seed)
}

// ParseRecord reads the text form of a record. Unknown words are ignored; owner and a positive epoch must be there.
func ParseRecord(text string) (Record, error) {
	var record Record
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "owner":
			record.Owner = value
		case "seed":
			record.Seed = value
		case "epoch":
			epoch, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return Record{}, fmt.Errorf("parse the epoch of the record %q: %w", text, err)
			}
			record.Epoch = epoch
		}
	}
	if record.Owner == "" || record.Epoch < 1 {
		return Record{}, fmt.Errorf("parse the record %q: owner and a positive epoch are needed", text)
	}
	return record, nil
}

// Version is an authority's token for the state that was read; "" stands for an absent record.
type Version string

// ErrConflict says that a record is no longer the one that was read: nothing was written.
var ErrConflict = errors.New("the ownership record has changed since it was read")

// Authority records the owner of one shoot. Read and CompareAndSet are linearizable: they go to the primary, never to
// a cache or secondary (docs/ownership.md#spec-9-1).
type Authority interface {
	// Read returns the record and its version. An absent record is no error.
	Read(ctx context.Context) (Record, Version, error)
	// CompareAndSet writes the record if the authority still has the version old ("" creates). ErrConflict means that
	// it was not written; after any other error only a Read can show it.
	CompareAndSet(ctx context.Context, old Version, record Record) error
}

// Source distinguishes the two authorities.
type Source string

const (
	// Claim is the Lease in the garden, written first.
	Claim Source = "claim"
	// Decision is the record in DNS, written last. Where the two differ, it is right.
	Decision Source = "decision"
)
