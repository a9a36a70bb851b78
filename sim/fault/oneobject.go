package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// OneObject is an object of a cluster.
type OneObject struct {
	Cluster `json:",inline"`
	// APIVersion of the object, such as v1.
	APIVersion string `json:"apiVersion"`
	// Kind of the object, such as Secret.
	Kind string `json:"kind"`
	// Namespace of the object; empty for one that is in none.
	Namespace string `json:"namespace,omitempty"`
	// Object is its name.
	Object string `json:"name"`
}

// Traits need nothing but access to the cluster.
func (o OneObject) Traits() Traits {
	return Traits{Ability: world.EditObjects, Place: o.place(), Momentary: true}
}

func (o OneObject) String() string {
	return fmt.Sprintf("%s,%s %s", o.Cluster.Cluster, o.Kind, strings.Trim(o.Namespace+"/"+o.Object, "/"))
}

func (o OneObject) checkObject(path *field.Path, on landscape.Landscape) field.ErrorList {
	errs := o.check(path, on)
	version, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil || o.APIVersion == "" {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), o.APIVersion,
			"must be a group and a version, such as apps/v1, or v1"))
	}
	if group := version.Group; err == nil && group != "" && len(validation.IsDNS1123Subdomain(group)) > 0 ||
		len(validation.IsDNS1123Label(version.Version)) > 0 && version.Version != "" {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), o.APIVersion,
			"must be a group and a version, such as apps/v1, or v1"))
	}
	if !kindName.MatchString(o.Kind) {
		errs = append(errs, field.Invalid(path.Child("kind"), o.Kind, "must be a kind, such as Secret"))
	} else if near := misspeltIn(version.Group, o.Kind); err == nil && near != "" {
		errs = append(errs, field.Invalid(path.Child("kind"), o.Kind, fmt.Sprintf("there is no such kind; did you mean %q?",
			near)))
	}
	if o.Object == "" {
		errs = append(errs, field.Required(path.Child("name"), "say which object it is"))
	}
	return append(errs, CheckPlace(path, o.Namespace, o.Object)...)
}

// isGone says that the object is not there. If the kind is unknown instead, the API server names no object.
func (o OneObject) isGone(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Name == o.Object
}

// nothingDone is the injection of a fault that has found nothing to harm: it hits nothing.
func nothingDone() world.Injection {
	return world.Injection{Heal: func(context.Context) error { return nil }, Hits: func() int { return 0 }}
}

// connect gives the observer's way to objects of this kind.
func (o OneObject) connect(w world.World) (dynamic.ResourceInterface, error) {
	config, err := w.Connect(o.Cluster.Cluster)
	if err != nil {
		return nil, fmt.Errorf("connect to cluster %q: %w", o.Cluster.Cluster, err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for cluster %q: %w", o.Cluster.Cluster, err)
	}
	version, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return nil, err
	}
	plural, _ := meta.UnsafeGuessKindToResource(version.WithKind(o.Kind))
	return client.Resource(plural).Namespace(o.Namespace), nil
}
