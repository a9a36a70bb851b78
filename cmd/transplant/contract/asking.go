package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	gardenlet "github.com/transplant-sim/transplant/controllers/controlplane/contract"
	"github.com/transplant-sim/transplant/sim/contract"
)

// asking is what a gardenlet, or whatever is in the way, does to an object.
type asking struct{ *universe }

// create the object with a request.
func (u asking) create(operation string) request {
	return func(ctx context.Context, at *side) (int64, error) {
		object, err := u.object(operation)
		if err != nil {
			return 0, err
		}
		if err := at.client.Create(ctx, object, fieldOwner); err != nil {
			return 0, fmt.Errorf("create the object: %w", err)
		}
		u.made = true
		return numberOf(object)
	}
}

// request an operation on the object as it is.
func (u asking) request(operation string) request {
	return func(ctx context.Context, at *side) (int64, error) {
		return u.patch(ctx, at, map[string]any{"metadata": map[string]any{"annotations": map[string]any{
			constants.GardenerOperation: operation, constants.GardenerTimestamp: timestamp(),
		}}}, "")
	}
}

// nothing is asked for.
func nothing(context.Context, *side) (int64, error) { return 0, nil }

// changeStatus adds a condition, which is nobody's request.
func (u asking) changeStatus(ctx context.Context, at *side) (int64, error) {
	now := time.Now().UTC().Format(time.RFC3339)
	return u.patch(ctx, at, map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": "ContractKit", "status": "True", "reason": "ContractKit", "message": "The kit has changed the status.",
		"lastTransitionTime": now, "lastUpdateTime": now}}}}, "status")
}

// migrateDeleted asks to migrate the object and deletes it. The extension can write nothing before both are there, and
// at no time is the object to be deleted and not to be migrated.
func (u asking) migrateDeleted(ctx context.Context, at *side) (int64, error) {
	at.tap.Limit(u.namespace, 0)
	defer at.tap.Pass(u.namespace)
	from, err := u.request(constants.GardenerOperationMigrate)(ctx, at)
	if err != nil {
		return 0, err
	}
	if _, err := u.remove(ctx, at); err != nil {
		return 0, err
	}
	// What has read the object before it was deleted has come to its end by then.
	return from, sleep(ctx, u.quiet)
}

// failShoot says in the Cluster where the last operation of the Shoot stands, and then asks.
func (u asking) failShoot(state gardencorev1beta1.LastOperationState, ask request) request {
	return func(ctx context.Context, at *side) (int64, error) {
		cluster, err := u.cluster(at, state)
		if err != nil {
			return 0, err
		}
		there := &extensionsv1alpha1.Cluster{ObjectMeta: cluster.ObjectMeta}
		if err := at.client.Get(ctx, client.ObjectKeyFromObject(there), there); err != nil {
			return 0, fmt.Errorf("read the Cluster: %w", err)
		}
		there.Spec.Shoot = cluster.Spec.Shoot
		if err := at.client.Update(ctx, there, fieldOwner); err != nil {
			return 0, fmt.Errorf("change the Cluster: %w", err)
		}
		return ask(ctx, at)
	}
}

// refuse lets the cloud refuse all requests for the object from now on.
func (u asking) refuse(ask request) request {
	return func(ctx context.Context, at *side) (int64, error) {
		at.tap.Refuse(u.namespace, true)
		return ask(ctx, at)
	}
}

// thawWait is how long the kit waits for a retry that nobody asks for. One that knows that the shoot has moved makes
// none.
const thawWait = time.Minute

// thaw lets the extension of the source go on where it was stuck, and waits until it tries again: nobody asks it.
func (u asking) thaw(ctx context.Context, at *side) (int64, error) {
	_, before := at.tap.Since(u.namespace, 0)
	at.tap.Refuse(u.namespace, false)
	if stuck := u.walk.Step(contract.CreateStuck); stuck == nil || stuck.CloudRequests == 0 {
		return 0, nil // what has not asked the cloud does not begin to
	}
	for until := time.Now().Add(thawWait * time.Duration(u.multiplier)); time.Now().Before(until); {
		if _, requests := at.tap.Since(u.namespace, 0); requests > before {
			break
		}
		if err := sleep(ctx, poll); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// afterwards asks when the extension has had time to see what was changed before.
func (u asking) afterwards(ask request) request {
	return func(ctx context.Context, at *side) (int64, error) {
		if err := sleep(ctx, u.quiet); err != nil {
			return 0, err
		}
		return ask(ctx, at)
	}
}

// readyOrError is satisfied by an error of the extension, too.
func (u waiting) readyOrError(v version) error {
	err := u.ready(v)
	if err == nil || v.gone || v.object == nil {
		return err
	}
	if is := contract.Look(v.object.Object); is.LastState == string(gardencorev1beta1.LastOperationStateError) {
		return nil
	}
	return err
}

// removeRefused removes an object that the cloud refuses. Then the cloud works again, but not for a restore that goes
// on: if it succeeded there would be no error to delete from. The deletion itself is not refused, because an extension
// that has failed often would try it again too late.
func (u asking) removeRefused(ctx context.Context, at *side) (int64, error) {
	defer at.tap.Refuse(u.namespace, false)
	from, err := u.remove(ctx, at)
	if err != nil {
		return 0, err
	}
	at.tap.Relent(u.namespace)
	return from, sleep(ctx, u.quiet)
}

// remove the object.
func (u asking) remove(ctx context.Context, at *side) (int64, error) {
	from, err := u.patch(ctx, at, map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		constants.ConfirmationDeletion: constants.LabelTrue, constants.GardenerTimestamp: timestamp(),
	}}}, "")
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := at.client.Delete(ctx, u.empty()); client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("delete the object: %w", err)
	}
	return from, nil
}

// clear removes what is left of the object on both seeds, with its finalizers, when nobody looks at it any more.
// What fails is tried again and again, and other objects would wait for that.
func (u asking) clear(ctx context.Context) error {
	for _, at := range u.sides {
		left := u.empty()
		err := at.client.Patch(ctx, left, client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":null}}`)), fieldOwner)
		if err == nil {
			err = at.client.Delete(ctx, left)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove the object of %s from %s: %w", u.namespace, at.name, err)
		}
	}
	return nil
}

// taking is what a gardenlet takes along when a shoot moves.
type taking struct{ *universe }

// handOver writes state and resources of the source, as a gardenlet does before it asks to restore.
func (u taking) handOver(ctx context.Context, at *side, saved contract.Snapshot) error {
	status := map[string]any{}
	if len(saved.State) > 0 {
		status["state"] = saved.State
	}
	u.handed = saved.State
	if u.machineState != nil {
		var state any
		if err := json.Unmarshal(u.machineState.Raw, &state); err != nil {
			return fmt.Errorf("read the saved machines: %w", err)
		}
		written, err := json.Marshal(state) // as the server answers it
		if err != nil {
			return fmt.Errorf("encode the saved machines: %w", err)
		}
		status["state"], u.handed = json.RawMessage(written), written
	}
	if len(saved.Resources) > 0 {
		status["resources"] = saved.Resources
	}
	if len(status) == 0 {
		return nil
	}
	return u.setStatus(ctx, at, status)
}

// setStatus changes the status as a gardenlet does, and waits until the kit sees it: what it was when the next step is
// asked for is in the record.
func (u taking) setStatus(ctx context.Context, at *side, status map[string]any) error {
	from, err := u.patch(ctx, at, map[string]any{"status": status}, "status")
	if err != nil {
		return err
	}
	isThere := func(version) error { return nil }
	if _, err := at.objects[u.kind.Name].await(ctx, u.key(), from, watchAgain, isThere); err != nil {
		return fmt.Errorf("see the status that was written: %w", err)
	}
	return nil
}

// save the Secrets that move with the shoot: those with persist=true, and those that status.resources refers to.
func (u taking) save(ctx context.Context, at *side, is contract.Snapshot) error {
	var references []struct {
		ResourceRef struct{ Kind, Name string } `json:"resourceRef"`
	}
	if len(is.Resources) > 0 {
		if err := json.Unmarshal(is.Resources, &references); err != nil {
			return fmt.Errorf("read status.resources: %w", err)
		}
	}
	secrets := &corev1.SecretList{}
	if err := at.client.List(ctx, secrets, client.InNamespace(u.namespace)); err != nil {
		return fmt.Errorf("list the Secrets: %w", err)
	}
	u.secrets = nil
	for _, secret := range secrets.Items {
		moves := secret.Labels[constants.Persist] == constants.LabelTrue
		for _, reference := range references {
			moves = moves || reference.ResourceRef.Kind == "Secret" && reference.ResourceRef.Name == secret.Name
		}
		if moves {
			u.secrets = append(u.secrets, secret)
		}
	}
	return nil
}

// carry the saved Secrets to the other seed.
func (u taking) carry(ctx context.Context, to *side) error {
	for _, secret := range u.secrets {
		moved := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name,
			Labels: secret.Labels, Annotations: secret.Annotations}, Type: secret.Type, Data: secret.Data,
			Immutable: secret.Immutable}
		if err := to.client.Create(ctx, moved, fieldOwner); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("bring Secret %q to %s: %w", secret.Name, to.name, err)
		}
	}
	return nil
}

func (u *universe) empty() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(u.kind.GroupVersionKind())
	if u.kind.Namespaced {
		object.SetNamespace(u.namespace)
	}
	object.SetName(u.objectName())
	return object
}

func (u *universe) patch(ctx context.Context, at *side, change map[string]any, subresource string) (int64, error) {
	content, err := json.Marshal(change)
	if err != nil {
		return 0, fmt.Errorf("encode a change: %w", err)
	}
	object, patch := u.empty(), client.RawPatch("application/merge-patch+json", content)
	if subresource != "" {
		err = at.client.SubResource(subresource).Patch(ctx, object, patch, fieldOwner)
	} else {
		err = at.client.Patch(ctx, object, patch, fieldOwner)
	}
	if err != nil {
		return 0, fmt.Errorf("change the object: %w", err)
	}
	return numberOf(object)
}

// waiting is what a gardenlet waits for.
type waiting struct{ *universe }

// ready is the wait of the gardenlet (docs/specification/extensions.md#spec-3-5).
func (u waiting) ready(v version) error { return u.typed(v, gardenlet.Ready) }

// migrated is its wait for a migration.
func (u waiting) migrated(v version) error { return u.typed(v, gardenlet.Migrated) }

func (u waiting) typed(v version, check func(extensionsv1alpha1.Object) error) error {
	if v.gone {
		return errors.New("the object is gone")
	}
	object := u.kind.New()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(v.object.Object, object); err != nil {
		return fmt.Errorf("read the object: %w", err)
	}
	return check(object)
}

// taken says that the request was taken off.
func taken(v version) error {
	if operation := v.object.GetAnnotations()[constants.GardenerOperation]; !v.gone && operation != "" {
		return fmt.Errorf("the annotation %s is still there", operation)
	}
	return nil
}

func gone(v version) error {
	if !v.gone {
		return fmt.Errorf("it is still there, with finalizers %q", v.object.GetFinalizers())
	}
	return nil
}
