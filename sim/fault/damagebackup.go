package fault

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// DamageBackup harms the last of a shoot's backups that there is at the injection, for whoever reads it before the
// heal.
type DamageBackup struct {
	// Shoot whose backup is harmed.
	Shoot string `json:"shoot"`
	// Last says of what the last is meant: Full snapshots, Delta, or Any of both, when not given.
	Last world.Backup `json:"last,omitempty"`
	// Missing lets it be gone; else its content is damaged.
	Missing bool `json:"missing,omitempty"`
}

var _ Fault = &DamageBackup{}

// Name is "damageBackup(shoot,which)".
func (d *DamageBackup) Name() string {
	harm := "damaged"
	if d.Missing {
		harm = "missing"
	}
	return fmt.Sprintf("damageBackup(%s,last %s %s)", d.Shoot, d.last(), harm)
}

func (d *DamageBackup) last() world.Backup {
	if d.Last == "" {
		return world.AnyBackup
	}
	return d.Last
}

// Traits are those of a harm to what is stored.
func (d *DamageBackup) Traits() Traits { return Traits{Ability: world.DamageBackups, Momentary: true} }

// Check finds unknown shoots and kinds of backups.
func (d *DamageBackup) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return append(choice.Check(path.Child("shoot"), d.Shoot, on.ShootNames()),
		choice.Check(path.Child("last"), d.last(), world.Backups())...)
}

// Inject harms the backup.
func (d *DamageBackup) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return w.DamageBackup(ctx, d.Shoot, d.last(), d.Missing)
}
