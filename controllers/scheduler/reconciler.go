// Package scheduler gives shoots without a seed one (docs/specification/nodes-and-seeds.md#spec-7-2). It runs in the
// garden-controller-manager. Which seed fits best is package placement's to know; admission judges the choice like
// anybody else's.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/patch"
	"github.com/transplant-sim/transplant/controllers/placement"
)

const (
	reasonScheduled = "SchedulingSuccessful"
	reasonFailed    = "SchedulingFailed"

	// maxNote is how long the API server lets the note of an event be.
	maxNote = 1024
)

// Reconciler binds shoots to seeds, one after the other, so that each sees where the others went.
type Reconciler struct {
	// Garden is an uncached client. In the first pass, it reads from the cache.
	Garden client.Client
	// Cached is what watches have shown: of that are the managed seeds, since admission judges the choice by those that
	// there are. It is set by AddToManager.
	Cached client.Reader
	Clock  clock.PassiveClock
	// Events is set by AddToManager if nil.
	Events events.EventRecorder
	// Retry is when to look again at a shoot that fits on no seed, if no change of a seed wakes it before.
	Retry time.Duration
}

// Reconcile binds one shoot. An event says for each other seed why it was left out; if no seed fits, lastOperation
// does, too (docs/ownership.md#spec-9-4).
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	shoot := &gardencorev1beta1.Shoot{}
	if err := r.Garden.Get(ctx, request.NamespacedName, shoot); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !wanting(shoot) {
		return reconcile.Result{}, nil
	}
	question, err := r.ask(ctx, shoot)
	if missing := (&missingProfileError{}); errors.As(err, &missing) {
		return r.wait(ctx, shoot, err)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	seed, excluded, err := placement.Schedule(question)
	if err != nil {
		return r.wait(ctx, shoot, err)
	}
	if err := r.bind(ctx, shoot, seed); err != nil {
		return reconcile.Result{}, err
	}
	log.FromContext(ctx).Info("Bound the shoot to a seed", "seed", seed, "others", excluded)
	r.Events.Eventf(shoot, nil, corev1.EventTypeNormal, reasonScheduled, "Schedule", "%s",
		shorten(success(seed, excluded)))
	return reconcile.Result{}, nil
}

func success(seed string, excluded map[string]string) string {
	text := fmt.Sprintf("Scheduled to seed %q", seed)
	if len(excluded) > 0 {
		text += "; left out: " + placement.Reasons(excluded)
	}
	return text
}

// wanting reports whether the shoot waits for a seed from this scheduler.
func wanting(shoot *gardencorev1beta1.Shoot) bool {
	name := ptr.Deref(shoot.Spec.SchedulerName, gardencorev1beta1.DefaultSchedulerName)
	ours := name == gardencorev1beta1.DefaultSchedulerName || name == ""
	return ptr.Deref(shoot.Spec.SeedName, "") == "" && shoot.DeletionTimestamp == nil && ours
}

func (r *Reconciler) ask(ctx context.Context, shoot *gardencorev1beta1.Shoot) (*placement.Question, error) {
	profile, err := r.profile(ctx, shoot)
	if err != nil {
		return nil, err
	}
	seeds, shoots := &gardencorev1beta1.SeedList{}, &gardencorev1beta1.ShootList{}
	if err := r.Garden.List(ctx, seeds); err != nil {
		return nil, fmt.Errorf("list the seeds: %w", err)
	}
	if err := r.Garden.List(ctx, shoots); err != nil {
		return nil, fmt.Errorf("list the shoots: %w", err)
	}
	managed := &seedmanagementv1alpha1.ManagedSeedList{}
	if err := r.Cached.List(ctx, managed); err != nil {
		return nil, fmt.Errorf("list the managed seeds: %w", err)
	}
	return &placement.Question{Shoot: shoot, Profile: profile, Seeds: seeds.Items,
		Usage: placement.UsageOf(shoots.Items, shoot), Hosts: placement.HostsOf(managed.Items, shoots.Items)}, nil
}

// missingProfileError says that a shoot refers to a profile that there is not.
type missingProfileError struct{ why error }

func (e *missingProfileError) Error() string { return e.why.Error() }

func (r *Reconciler) profile(ctx context.Context, shoot *gardencorev1beta1.Shoot) (*gardencorev1beta1.CloudProfile,
	error) {
	name, _, unknown := placement.ProfileOf(shoot)
	if unknown != nil {
		return nil, &missingProfileError{unknown}
	}
	if name == "" {
		return nil, nil
	}
	profile := &gardencorev1beta1.CloudProfile{}
	err := r.Garden.Get(ctx, client.ObjectKey{Name: name}, profile)
	if apierrors.IsNotFound(err) {
		return nil, &missingProfileError{fmt.Errorf("the CloudProfile %q does not exist", name)}
	}
	if err != nil {
		return nil, fmt.Errorf("read CloudProfile %q: %w", name, err)
	}
	return profile, nil
}

// bind writes spec.seedName, unless the shoot has changed since it was judged.
func (r *Reconciler) bind(ctx context.Context, shoot *gardencorev1beta1.Shoot, seed string) error {
	if err := patch.LockedObject(ctx, r.Garden, shoot, func() { shoot.Spec.SeedName = &seed }); err != nil {
		return fmt.Errorf("bind shoot %q to seed %q: %w", client.ObjectKeyFromObject(shoot), seed, err)
	}
	return nil
}

// wait reports why the shoot has no seed yet, once for each reason.
func (r *Reconciler) wait(ctx context.Context, shoot *gardencorev1beta1.Shoot, why error) (reconcile.Result, error) {
	again := reconcile.Result{RequeueAfter: r.Retry}
	description := "Failed to schedule Shoot: " + why.Error()
	if last := shoot.Status.LastOperation; last != nil && last.State == gardencorev1beta1.LastOperationStatePending &&
		last.Description == description {
		return again, nil
	}
	if err := patch.LockedStatus(ctx, r.Garden, shoot, func() {
		shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{
			Type: gardencorev1beta1.LastOperationTypeCreate, State: gardencorev1beta1.LastOperationStatePending,
			Description: description, LastUpdateTime: metav1.NewTime(r.Clock.Now()),
		}
	}); err != nil {
		return reconcile.Result{}, fmt.Errorf("report why shoot %q has no seed: %w", client.ObjectKeyFromObject(shoot), err)
	}
	r.Events.Eventf(shoot, nil, corev1.EventTypeWarning, reasonFailed, "Schedule", "%s", shorten(description))
	return again, nil
}

// shorten cuts what does not fit into an event; all of it is in lastOperation.
func shorten(note string) string {
	const more = " …"
	if len(note) <= maxNote {
		return note
	}
	return strings.ToValidUTF8(note[:maxNote-len(more)], "") + more
}
