package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/sim/contract"
)

// planned is a step of a walk.
type planned struct {
	name     string
	ask      request
	answered answer
	wait     time.Duration
}

// take takes steps on a seed until one is not answered.
func (u *universe) take(ctx context.Context, at *side, steps ...planned) (done bool, err error) {
	for _, p := range steps {
		s, err := u.step(ctx, at, p.name, p.ask, p.answered, p.wait)
		if err != nil {
			return false, err
		}
		if s.Missing != "" {
			u.walk.Ended = fmt.Sprintf("%s was not answered: %s", p.name, s.Missing)
			return false, nil
		}
	}
	return true, nil
}

// clean is the whole life of an object.
func (u *universe) clean(ctx context.Context) error {
	u.lists = true
	if err := u.arrive(ctx, u.source()); err != nil {
		return err
	}
	wait := u.waitFor(u.subject)
	done, err := u.take(ctx, u.source(),
		planned{contract.Create, u.create(constants.GardenerOperationReconcile), u.ready, wait},
		planned{contract.Reconcile, u.request(constants.GardenerOperationReconcile), u.ready, wait},
		planned{contract.Migrate, u.request(constants.GardenerOperationMigrate), u.migrated, wait},
		planned{contract.AfterMigrate, nothing, nil, 0},
		planned{contract.ReconcileAgain, u.request(constants.GardenerOperationReconcile), nil, 0},
	)
	if err != nil || !done {
		return err
	}
	// The next two need no answer to go on: what is missing is a finding.
	for _, p := range []planned{
		{contract.MigrateAgain, u.request(constants.GardenerOperationMigrate), taken, wait},
		{contract.DeleteSource, u.remove, gone, wait},
	} {
		if _, err := u.step(ctx, u.source(), p.name, p.ask, p.answered, p.wait); err != nil {
			return err
		}
	}
	return u.onDestination(ctx)
}

// onDestination is the second part of the life.
func (u *universe) onDestination(ctx context.Context) error {
	done, err := u.toDestination(ctx)
	if err != nil || !done {
		return err
	}
	done, err = u.take(ctx, u.destination(),
		planned{contract.Restore, u.request(constants.GardenerOperationRestore), u.ready, u.waitFor(u.subject)},
		planned{contract.RestoreAgain, u.request(constants.GardenerOperationRestore), u.ready, u.waitFor(u.subject)},
		planned{contract.ReconcileAfter, u.request(constants.GardenerOperationReconcile), u.ready, u.waitFor(u.subject)},
		planned{contract.Delete, u.remove, gone, u.waitFor(u.subject)},
	)
	if err != nil || done || u.walk.Step(contract.RestoreAgain) != nil {
		return err
	}
	return u.help(ctx)
}

// help a restore that has not ended: the object gets the providerStatus of the source. Whether it ends now shows
// whether that was missing.
func (u *universe) help(ctx context.Context) error {
	var results struct {
		ProviderStatus json.RawMessage `json:"providerStatus,omitempty"`
	}
	if err := json.Unmarshal(u.walk.Step(contract.Reconcile).After.Results, &results); err != nil {
		return fmt.Errorf("read the status of the source: %w", err)
	}
	if results.ProviderStatus == nil {
		return nil
	}
	if _, err := u.patch(ctx, u.destination(), map[string]any{"status": results}, "status"); err != nil {
		return err
	}
	_, err := u.step(ctx, u.destination(), contract.RestoreHelped, u.request(constants.GardenerOperationRestore), u.ready,
		u.waitFor(u.subject))
	return err
}

// toDestination brings the shoot to the other seed, up to the request to restore.
func (u *universe) toDestination(ctx context.Context) (done bool, err error) {
	saved := u.walk.Step(contract.Create).After
	if s := u.walk.Step(contract.Reconcile); s != nil {
		saved = s.After
	}
	to := u.destination()
	if err := u.arrive(ctx, to); err != nil {
		return false, err
	}
	if err := u.carry(ctx, to); err != nil {
		return false, err
	}
	if done, err := u.take(ctx, to, planned{contract.WaitForState, u.create(constants.GardenerOperationWaitForState), nil,
		0}); err != nil || !done {
		return false, err
	}
	return true, u.handOver(ctx, to, saved)
}

// walks of a kind, by name, with what they do.
var walks = map[string]func(*universe, context.Context) error{
	contract.Clean: (*universe).clean,
	contract.Never: func(u *universe, ctx context.Context) error {
		return u.onSource(ctx,
			planned{contract.Migrate, u.create(constants.GardenerOperationMigrate), u.migrated, u.waitFor(u.subject)})
	},
	contract.Back: func(u *universe, ctx context.Context) error {
		return u.onSource(ctx,
			planned{contract.Create, u.create(constants.GardenerOperationReconcile), u.ready, u.waitFor(u.subject)},
			planned{contract.Migrate, u.request(constants.GardenerOperationMigrate), u.migrated, u.waitFor(u.subject)},
			planned{contract.Restore, u.request(constants.GardenerOperationRestore), u.ready, u.waitFor(u.subject)})
	},
	contract.Foreign: func(u *universe, ctx context.Context) error {
		u.foreign = true
		return u.onSource(ctx, planned{contract.Create, u.create(constants.GardenerOperationReconcile), nil, 0})
	},
	contract.NoSeed: func(u *universe, ctx context.Context) error {
		u.noSeed = true
		return u.onSource(ctx,
			planned{contract.Create, u.create(constants.GardenerOperationReconcile), u.ready, u.waitFor(u.subject)})
	},
}

func (u *universe) onSource(ctx context.Context, steps ...planned) error {
	if err := u.arrive(ctx, u.source()); err != nil {
		return err
	}
	_, err := u.take(ctx, u.source(), steps...)
	return err
}
