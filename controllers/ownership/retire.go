package ownership

import (
	"context"
	"fmt"
)

// NotOwnerError says that DNS gives the shoot to somebody else.
type NotOwnerError struct{ Named Record }

func (e *NotOwnerError) Error() string {
	return fmt.Sprintf("retire the shoot: the decision is %q", e.Named)
}

// Retire ends the shoot's last epoch, after its owner has deleted everything that could serve it: nobody owns the
// shoot, with a new epoch. The record is not removed, because numbers would begin anew with a shoot that is created
// under the same name, and what a dead seed or the cloud remember of the old one would be taken for the new one's.
// A shoot that never had an owner, or is retired, stays as it is.
func Retire(ctx context.Context, decision Authority, owner string) error {
	record, version, err := decision.Read(ctx)
	switch {
	case err != nil:
		return &UnreadableError{What: string(Decision), Err: err}
	case record.Absent(), record.Retired():
		return nil
	case record.Owner != owner:
		return &NotOwnerError{Named: record}
	}
	if err := decision.CompareAndSet(ctx, version, Record{Owner: Nobody, Epoch: record.Epoch + 1,
		Seed: record.Seed}); err != nil {
		return &UnwrittenError{What: Decision, Err: err}
	}
	return nil
}
