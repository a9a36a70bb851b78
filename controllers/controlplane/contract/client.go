package contract

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Client asks the extensions of a seed for operations on their objects. It does not wait for an answer.
//
// Callers repeat themselves in two ways. A flow makes each request anew in each run, but asks nobody to migrate who
// has. The new timestamp wakes an extension that has failed and backs off, and no answer to an earlier run counts. A
// reconciler is woken by the object itself, also by what it has written. A request that it repeats would wake it again
// without end, so ReleaseOnce and DeleteOnce leave alone what is asked for already.
type Client struct {
	Seed  client.Client
	Clock clock.PassiveClock
	// Missing says that what is to be deployed was not there just now.
	Missing bool
}

// request puts an operation on an object. Equal requests differ by their timestamp.
func (c Client) request(object client.Object, operation string) {
	metav1.SetMetaDataAnnotation(objects.Meta(object), constants.GardenerOperation, operation)
	c.stamp(object)
}

func (c Client) stamp(object client.Object) {
	metav1.SetMetaDataAnnotation(objects.Meta(object), constants.GardenerTimestamp,
		c.Clock.Now().UTC().Format(time.RFC3339Nano))
}

// Confirm says on an object that its deletion is meant.
func Confirm(object client.Object) {
	metav1.SetMetaDataAnnotation(objects.Meta(object), constants.ConfirmationDeletion, constants.LabelTrue)
}

// Deploy brings an object to its spec and asks for an operation, in one write. It asks at each call: a reconciler calls
// it only if it has something to ask for.
func (c Client) Deploy(ctx context.Context, object extensionsv1alpha1.Object, operation string,
	mutate func() error) error {
	deploy := patch.CreateOrPatch[extensionsv1alpha1.Object]
	if c.Missing {
		deploy = patch.CreateFirst
	}
	return deploy(ctx, c.Seed, object, func(extensionsv1alpha1.Object) error {
		c.request(object, operation)
		return mutate()
	})
}

// Request asks for an operation on an object as it is.
func (c Client) Request(ctx context.Context, object extensionsv1alpha1.Object, operation string) error {
	return patch.Object(ctx, c.Seed, object, func() { c.request(object, operation) })
}

// Delete confirms and deletes an object as a request of its own, with a timestamp.
func (c Client) Delete(ctx context.Context, object extensionsv1alpha1.Object) error {
	return c.confirmAndDelete(ctx, object, func() { c.stamp(object) })
}

// DeleteOnce confirms and deletes an object, unless its deletion has begun. It has no timestamp: by that, the answer of
// an extension that has released the object would be too old, and ReleaseOnce would ask for another one if the
// gardenlet died before the deletion.
func (c Client) DeleteOnce(ctx context.Context, object extensionsv1alpha1.Object) error {
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	return c.confirmAndDelete(ctx, object, func() {})
}

func (c Client) confirmAndDelete(ctx context.Context, object extensionsv1alpha1.Object, further func()) error {
	if err := patch.Object(ctx, c.Seed, object, func() {
		Confirm(object)
		further()
	}); err != nil {
		return client.IgnoreNotFound(err)
	}
	return objects.Remove(ctx, c.Seed, object)
}

// ReleaseOnce asks the extension to release an object, and deletes it once it has: what it stands for stays.
func (c Client) ReleaseOnce(ctx context.Context, object extensionsv1alpha1.Object) error {
	switch {
	case Migrated(object) == nil:
		return c.DeleteOnce(ctx, object)
	case object.GetAnnotations()[constants.GardenerOperation] == constants.GardenerOperationMigrate:
		return nil
	}
	return c.Request(ctx, object, constants.GardenerOperationMigrate)
}
