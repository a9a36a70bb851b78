package step

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/sim/step/dryrun"
	"github.com/transplant-sim/transplant/sim/step/manifest"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// Apply lets a user of a shoot create an object in it, or change one that is there. It waits for nothing that follows
// from it.
type Apply struct {
	// Shoot whose user it is.
	Shoot string `json:"shoot"`
	// Object of the shoot's API. If it is there, it is taken as a JSON merge patch (RFC 7386): null removes a field, a
	// list replaces the whole list, and what is not named stays.
	Object manifest.Object `json:"object"`
}

var _ Step = &Apply{}

// Subject is the shoot.
func (a *Apply) Subject() string { return a.Shoot }

func (a *Apply) String() string { return fmt.Sprintf("apply %s in %s", a.Object, a.Shoot) }

// Check wants an awake shoot, which may be in deletion, and an object that fits its kind.
func (a *Apply) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	errs := append(state.GardenUp(path), state.Reachable(path.Child("shoot"), a.Shoot)...)
	return append(errs, a.Object.Check(path.Child("object"))...)
}

// servedWithin is how long a kind may take to be served after it was defined, and servedPoll how often that is tried.
const (
	servedWithin = 30 * time.Second
	servedPoll   = 250 * time.Millisecond
)

// Run creates or changes the object. If the run has just defined the kind, it waits until the kind is served.
func (a *Apply) Run(ctx context.Context, env *Environment) error {
	shoot, err := env.user(ctx, a.Shoot)
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, servedPoll, servedWithin, true, func(ctx context.Context) (bool, error) {
		last = a.apply(ctx, shoot)
		return !unserved(last), nil
	})
	if last == nil && err != nil { // the run was interrupted before the first try
		last = err
	}
	return done(a, last)
}

func (a *Apply) apply(ctx context.Context, shoot client.Client) error {
	content, err := json.Marshal(a.Object)
	if err != nil {
		return err
	}
	// Changes first: a part of an object may be no whole one.
	err = shoot.Patch(ctx, a.Object.Whole(), client.RawPatch(types.MergePatchType, content))
	if apierrors.IsNotFound(err) {
		err = shoot.Create(ctx, a.Object.Whole())
	}
	return err
}

// unserved says whether an error is about the kind, which the API server does not know, or not serve yet; that of an
// object that is not there names the object.
func unserved(err error) bool {
	if meta.IsNoMatchError(err) {
		return true
	}
	status := apierrors.APIStatus(nil)
	return apierrors.IsNotFound(err) && errors.As(err, &status) &&
		(status.Status().Details == nil || status.Status().Details.Name == "")
}

// user is a client of the shoot's API by its public name.
func (s *Environment) user(ctx context.Context, shoot string) (client.Client, error) {
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

// Remove lets a user of a shoot delete an object in it. It does not wait until it is gone; one that is gone is no
// error.
type Remove struct {
	// Shoot whose user it is.
	Shoot string `json:"shoot"`
	// Object of the shoot's API: apiVersion, kind and metadata with name and, where there is one, namespace.
	Object manifest.Object `json:"object"`
}

var _ Step = &Remove{}

// Subject is the shoot.
func (r *Remove) Subject() string { return r.Shoot }

func (r *Remove) String() string { return fmt.Sprintf("remove %s from %s", r.Object, r.Shoot) }

// Check wants an awake shoot, which may be in deletion, and no more of the object than who it is.
func (r *Remove) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	errs := append(state.GardenUp(path), state.Reachable(path.Child("shoot"), r.Shoot)...)
	errs = append(errs, r.Object.Check(path.Child("object"))...)
	return append(errs, r.Object.CheckBare(path.Child("object"))...)
}

// Run deletes the object.
func (r *Remove) Run(ctx context.Context, env *Environment) error {
	shoot, err := env.user(ctx, r.Shoot)
	if err != nil {
		return err
	}
	return done(r, client.IgnoreNotFound(shoot.Delete(ctx, r.Object.Whole())))
}

// Object is the object in a shoot that a user creates, changes or deletes by the step; nil for every other step.
func (s *Spec) Object() *timeline.ObjectRef {
	switch {
	case s.Apply != nil:
		return s.Apply.Object.Ref()
	case s.Remove != nil:
		return s.Remove.Object.Ref()
	}
	return nil
}
