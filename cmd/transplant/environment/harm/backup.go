package harm

import (
	"context"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/world"
)

// DamageBackup implements world.Breaker.
func (i *Injector) DamageBackup(ctx context.Context, shoot string, last world.Backup, missing bool) (world.Injection,
	error) {
	objects, err := i.on.LastBackup(ctx, shoot, last)
	if err != nil {
		return world.Injection{}, err
	}
	effect := cloud.Effect{Damage: true}
	if missing {
		effect = cloud.Effect{Missing: true}
	}
	var faults []cloud.Fault
	for _, id := range objects {
		faults = append(faults, cloud.Fault{Match: cloud.Match{Kinds: []string{cloud.KindObjects}, IDPrefix: id},
			Effect: effect})
	}
	return i.breakCloud(ctx, faults)
}
