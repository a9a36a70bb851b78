package placement

import (
	"fmt"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// backedUp asks for backups on both seeds: data moves by way of them. A source that is no longer known cannot be asked;
// what it left is looked at when it is restored.
func backedUp(q *Question, seed *gardencorev1beta1.Seed) string {
	source := q.Seed(q.Source)
	switch {
	case seed.Spec.Backup == nil:
		return "has no spec.backup, so that nothing can be restored on it"
	case source != nil && source.Spec.Backup == nil:
		return fmt.Sprintf("cannot restore what is not backed up: the source seed %q has no spec.backup", q.Source)
	}
	return ""
}
