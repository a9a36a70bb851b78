package shootstate

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// Added is what an Add has saved.
type Added struct {
	State *State
	// LeftOut names what was there, is damaged, and was not collected.
	LeftOut []string
}

// Add keeps the state of a shoot that is leaving over what is there. Otherwise it is like Save, but that it always
// writes: a Save that has begun before it is a conflict then, and never comes after it. before is what the same run has
// added already, nil at first; whatever has become of it in the garden since is mended.
//
// What is there is needed for the objects that are gone because the shoot is leaving: of them it is all that there is
// (docs/specification/migration.md#spec-2-6). None is gone before the first Add has succeeded, which is noted in the
// ShootState. Until then what was collected is the truth, if it was all here once: if a sync in the same epoch has
// written what is there. What is there then stays only as the field has it (docs/specification/migration.md#spec-2-8):
// an entry that is damaged, and was not collected, is of something that the seed no longer has. It is left out and
// reported; to wait for it would be for nothing. Otherwise it may be the last that was left of a part of the shoot, and
// is a *DamagedError that names it: who can brings the chunk back, and who knows that nobody needs it takes the entry
// out of the ShootState. What is damaged and was collected is mended.
func (s *Store) Add(ctx context.Context, shoot client.ObjectKey, source Source, before *Added) (*Added, error) {
	v, state, err := s.begin(ctx, shoot, source)
	if err != nil {
		return nil, err
	}
	added, err := v.over(ctx, state, before)
	if err != nil {
		return nil, fmt.Errorf("read ShootState %q: %w", shoot, err)
	}
	if err := v.save(ctx, added.State, s.Clock.Now().UTC().Format(time.RFC3339Nano)); err != nil {
		return nil, err
	}
	return added, nil
}

// over merges what was collected over the version, and over what was added before.
func (v *version) over(ctx context.Context, collected *State, before *Added) (*Added, error) {
	merged, damages, err := v.expand(ctx, v.object)
	if err != nil {
		return nil, err
	}
	have := collected.entries()
	whole := before == nil && v.object.Annotations[constants.StateLeaving] == "" && syncedIn(collected.Epoch, merged)
	if !whole {
		have[nameOfMachines] = false // those that are there need not be all
	}
	if before != nil {
		maps.Copy(have, before.State.entries())
		merged.Merge(before.State)
	}
	added := &Added{State: merged}
	for _, d := range damages {
		if !have[d.entry] {
			added.LeftOut = append(added.LeftOut, fmt.Sprintf("the state of %s: %v", d.entry, d.err))
		}
	}
	if !whole && len(added.LeftOut) > 0 {
		return nil, &DamagedError{Part: strings.Join(added.LeftOut, ", ")}
	}
	machines := merged.Machines
	merged.Merge(collected)
	if !whole {
		merged.Machines, err = unremoved(machines, merged.Machines)
	}
	return added, err
}

// syncedIn reports whether a saved state is of this epoch; zero is none that is known. One of an older epoch was saved
// before the shoot came here, and nothing proves that all of it was restored: who comes by force has left nowhere, and
// may leave half-way.
func syncedIn(epoch int64, saved *State) bool { return epoch != 0 && saved.Epoch == epoch }
