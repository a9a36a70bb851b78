package step

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Remove lets a user of a shoot delete an object in it. It does not wait until it is gone; one that is gone is no
// error.
type Remove struct {
	// Shoot whose user it is.
	Shoot string `json:"shoot"`
	// Object of the shoot's API: apiVersion, kind and metadata with name and, where there is one, namespace.
	Object Object `json:"object"`
}

var _ Step = &Remove{}

// Subject is the shoot.
func (r *Remove) Subject() string { return r.Shoot }

func (r *Remove) String() string { return fmt.Sprintf("remove %s from %s", r.Object, r.Shoot) }

// Check wants an awake shoot, which may be in deletion, and no more of the object than who it is.
func (r *Remove) Check(path *field.Path, state *State) field.ErrorList {
	errs := append(state.garden(path), state.reachable(path.Child("shoot"), r.Shoot)...)
	errs = append(errs, r.Object.check(path.Child("object"))...)
	metadata, _ := r.Object.fields["metadata"].(map[string]any)
	errs = append(errs, known(path.Child("object"), r.Object.fields, []string{"apiVersion", "kind", "metadata"})...)
	return append(errs, known(path.Child("object", "metadata"), metadata, []string{"name", "namespace"})...)
}

// Run deletes the object.
func (r *Remove) Run(ctx context.Context, env *Environment) error {
	shoot, err := env.user(ctx, r.Shoot)
	if err != nil {
		return err
	}
	return done(r, client.IgnoreNotFound(shoot.Delete(ctx, r.Object.whole())))
}
