package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/sim/contract"
)

// planned is a step of a walk.
type planned struct {
	name     string
	ask      request
	answered answer // nil if nobody waits for an answer
	wait     time.Duration
	goesOn   bool // without an answer, too: what is missing is a finding
}

// take takes steps on a seed until one is not answered.
func (u *universe) take(ctx context.Context, at *side, steps ...planned) (done bool, err error) {
	for _, p := range steps {
		s, err := u.step(ctx, at, p.name, p.ask, p.answered, p.wait)
		if err != nil {
			return false, err
		}
		if s.Missing != "" && !p.goesOn {
			u.walk.Ended = fmt.Sprintf("%s was not answered: %s", p.name, s.Missing)
			return false, nil
		}
	}
	return true, nil
}

// follow steps (contract.WalkSteps) until one is not answered. The object begins on the source, and with
// wait-for-state it is on the destination.
func (u *universe) follow(ctx context.Context, steps []string) (done bool, err error) {
	for _, name := range steps {
		switch {
		case name == contract.WaitForState:
			done, err = u.toDestination(ctx)
		case u.at == nil:
			if done, err = u.comeTo(ctx, u.source()); !done || err != nil {
				return false, err
			}
			fallthrough
		default:
			at := u.at
			if name == contract.Thaw {
				at = u.source()
			}
			done, err = u.take(ctx, at, u.plan(name))
		}
		if err == nil && done && name == contract.Restore {
			err = taking{u}.restored(ctx)
		}
		if err != nil || !done {
			return false, err
		}
	}
	return true, nil
}

// comeTo makes a seed ready for the object, with what it needs.
func (u *universe) comeTo(ctx context.Context, at *side) (done bool, err error) {
	u.at, u.made = at, false
	if err := u.arrive(ctx, at); err != nil {
		return false, err
	}
	if err := (taking{u}).carry(ctx, at); err != nil {
		return false, err
	}
	if err := u.arriveBase(ctx, at); err != nil {
		return false, err
	}
	return u.walk.Ended == "", nil
}

// walkThrough follows the steps, and tries to help a restore that has not ended.
func (u *universe) walkThrough(ctx context.Context, steps []string) error {
	_, err := u.follow(ctx, steps)
	restore := u.walk.Step(contract.Restore)
	if err != nil || u.walk.Name != contract.Clean || restore == nil || restore.Missing == "" {
		return err
	}
	return u.help(ctx)
}

// plan what a step asks for. What asks for an object that is not there makes it.
func (u *universe) plan(name string) planned {
	asks := asking{u}.request
	if !u.made {
		asks = asking{u}.create
	}
	p := planned{name: name, answered: waiting{u}.ready, wait: u.waitFor(u.subject)}
	switch name {
	case contract.Create, contract.Reconcile, contract.ReconcileAfter:
		p.ask = asks(constants.GardenerOperationReconcile)
	case contract.Restore, contract.RestoreAgain:
		p.ask = asks(constants.GardenerOperationRestore)
	case contract.Migrate:
		p.ask, p.answered = asks(constants.GardenerOperationMigrate), waiting{u}.migrated
	case contract.AfterMigrate:
		p.ask, p.answered = nothing, nil
	case contract.ReconcileAgain:
		p.ask, p.answered = asks(constants.GardenerOperationReconcile), nil
	case contract.MigrateAgain:
		p.ask, p.answered, p.goesOn = asks(constants.GardenerOperationMigrate), taken, true
	case contract.DeleteSource:
		p.ask, p.answered, p.goesOn = asking{u}.remove, gone, true
	case contract.Delete:
		if p.ask, p.answered = (asking{u}).remove, gone; u.walk.Name == contract.Refused {
			p.ask = asking{u}.removeRefused
		}
	default:
		u.planDisturbed(&p, asks)
	}
	if u.foreign {
		p.answered = nil
	}
	return p
}

// planDisturbed plans a step in which something is in the way of the object.
func (u *universe) planDisturbed(p *planned, asks func(string) request) {
	switch p.name {
	case contract.ChangeStatus:
		p.ask, p.answered = asking{u}.changeStatus, nil
	case contract.MigrateDeleted:
		p.ask, p.answered = asking{u}.migrateDeleted, gone
	case contract.ReconcileFailed:
		p.ask, p.answered = asking{u}.failShoot(gardencorev1beta1.LastOperationStateFailed,
			asking{u}.afterwards(asks(constants.GardenerOperationReconcile))), nil
	case contract.Recovered:
		p.ask = asking{u}.failShoot(gardencorev1beta1.LastOperationStateProcessing,
			asking{u}.afterwards(asks(constants.GardenerOperationReconcile)))
	case contract.MigrateRefused:
		p.ask, p.answered = asking{u}.refuse(asks(constants.GardenerOperationMigrate)), waiting{u}.migrated
	case contract.RestoreLost:
		p.ask, p.answered = asks(constants.GardenerOperationRestore), waiting{u}.readyOrError
	case contract.RestoreRefused:
		p.ask, p.answered = asking{u}.refuse(asks(constants.GardenerOperationRestore)), waiting{u}.readyOrError
	case contract.CreateStuck:
		p.ask, p.answered = asking{u}.refuse(asks(constants.GardenerOperationReconcile)), waiting{u}.readyOrError
	case contract.Thaw:
		p.ask, p.answered = asking{u}.thaw, nil
	}
}

// help a restore that has not ended: the object gets the providerStatus of the source. Whether it ends now shows
// whether that was missing.
func (u *universe) help(ctx context.Context) error {
	var results struct {
		ProviderStatus json.RawMessage `json:"providerStatus,omitempty"`
	}
	if err := json.Unmarshal(u.saved().Results, &results); err != nil {
		return fmt.Errorf("read the status of the source: %w", err)
	}
	if results.ProviderStatus == nil {
		return nil
	}
	if _, err := u.patch(ctx, u.at, map[string]any{"status": results}, "status"); err != nil {
		return err
	}
	p := u.plan(contract.Restore)
	_, err := u.step(ctx, u.at, contract.RestoreHelped, p.ask, p.answered, p.wait)
	return err
}

// saved is the object as it was after its last reconcile.
func (u *universe) saved() contract.Snapshot {
	for _, name := range []string{contract.Reconcile, contract.Create} {
		if s := u.walk.Step(name); s != nil {
			return s.After
		}
	}
	return contract.Snapshot{}
}

// toDestination brings the shoot to the other seed, up to the request to restore.
func (u *universe) toDestination(ctx context.Context) (done bool, err error) {
	if err := (taking{u}).leave(ctx); err != nil {
		return false, err
	}
	if done, err := u.comeTo(ctx, u.destination()); err != nil || !done {
		return false, err
	}
	wait := planned{name: contract.WaitForState, ask: asking{u}.create(constants.GardenerOperationWaitForState)}
	if done, err := u.take(ctx, u.at, wait); err != nil || !done {
		return false, err
	}
	if u.walk.Name == contract.Lost {
		return true, nil
	}
	return true, taking{u}.handOver(ctx, u.at, u.saved())
}
