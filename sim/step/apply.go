package step

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/sim/world"
)

// Apply lets a user of a shoot create an object in it, or change one that is there. It waits for nothing that follows
// from it.
type Apply struct {
	// Shoot whose user it is.
	Shoot string `json:"shoot"`
	// Object of the shoot's API. If it is there, it is taken as a JSON merge patch (RFC 7386): null removes a field, a
	// list replaces the whole list, and what is not named stays.
	Object Object `json:"object"`
}

var _ Step = &Apply{}

// Subject is the shoot.
func (a *Apply) Subject() string { return a.Shoot }

func (a *Apply) String() string { return fmt.Sprintf("apply %s in %s", a.Object, a.Shoot) }

// Check wants an awake shoot, which may be in deletion, and an object that fits its kind.
func (a *Apply) Check(path *field.Path, plot *Plot) field.ErrorList {
	return append(plot.reachable(path.Child("shoot"), a.Shoot), a.Object.check(path.Child("object"))...)
}

// Run creates or changes the object.
func (a *Apply) Run(ctx context.Context, stage *Stage) error {
	shoot, err := stage.user(ctx, a.Shoot)
	if err != nil {
		return err
	}
	content, err := json.Marshal(a.Object)
	if err != nil {
		return done(a, err)
	}
	// Changes first: a part of an object may be no whole one.
	err = shoot.Patch(ctx, a.Object.whole(), client.RawPatch(types.MergePatchType, content))
	if apierrors.IsNotFound(err) {
		err = shoot.Create(ctx, a.Object.whole())
	}
	return done(a, err)
}

// user is a client of the shoot's API by its public name.
func (s *Stage) user(ctx context.Context, shoot string) (client.Client, error) {
	config, err := s.World.ConnectShoot(ctx, shoot, world.User)
	if err != nil {
		return nil, fmt.Errorf("connect to the shoot %q: %w", shoot, err)
	}
	made, err := client.New(world.Unlimited(config), client.Options{})
	if err != nil {
		return nil, fmt.Errorf("make the client of the shoot %q: %w", shoot, err)
	}
	return made, nil
}

func done(what fmt.Stringer, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
