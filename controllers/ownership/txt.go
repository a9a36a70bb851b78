package ownership

import (
	"context"
	"fmt"
)

// TXTRecords is the little of a DNS provider's API that the decision needs. Both go to the primary.
type TXTRecords interface {
	// GetTXT returns the values of the record set and its version; no values and version "" if it does not exist.
	GetTXT(ctx context.Context, name string) (values []string, version string, err error)
	// SetTXT writes the record set if it still has the version ("" creates). It returns ErrConflict if not.
	SetTXT(ctx context.Context, name string, values []string, ifVersion string) error
}

// TXTAuthority is the decision: a TXT record in DNS (docs/ownership.md#spec-9-1), read and written through the
// provider's API, never through a resolver.
type TXTAuthority struct {
	Records TXTRecords
	Name    string
}

var _ Authority = &TXTAuthority{}

// Read implements Authority.
func (t *TXTAuthority) Read(ctx context.Context) (Record, Version, error) {
	values, version, err := t.Records.GetTXT(ctx, t.Name)
	if err != nil {
		return Record{}, "", fmt.Errorf("get the owner record %q: %w", t.Name, err)
	}
	switch len(values) {
	case 0:
		return Record{}, Version(version), nil
	case 1:
		record, err := ParseRecord(values[0])
		if err != nil {
			return Record{}, "", fmt.Errorf("read the owner record %q: %w", t.Name, err)
		}
		return record, Version(version), nil
	default:
		return Record{}, "", fmt.Errorf("read the owner record %q: it has %d values instead of one", t.Name, len(values))
	}
}

// CompareAndSet implements Authority.
func (t *TXTAuthority) CompareAndSet(ctx context.Context, old Version, record Record) error {
	if err := t.Records.SetTXT(ctx, t.Name, []string{record.String()}, string(old)); err != nil {
		return fmt.Errorf("set the owner record %q: %w", t.Name, err)
	}
	return nil
}
