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
func (a *Apply) Check(path *field.Path, state *State) field.ErrorList {
	errs := append(state.garden(path), state.reachable(path.Child("shoot"), a.Shoot)...)
	return append(errs, a.Object.check(path.Child("object"))...)
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
	err = shoot.Patch(ctx, a.Object.whole(), client.RawPatch(types.MergePatchType, content))
	if apierrors.IsNotFound(err) {
		err = shoot.Create(ctx, a.Object.whole())
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
