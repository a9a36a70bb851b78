package world

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// Annotation and prefix of a shoot's ownership Lease, the claim of docs/ownership.md#spec-9-1.
const (
	claimPrefix     = "owner."
	claimEpoch      = "transplant.dev/epoch"
	notYetConnected = "the cluster cannot be reached: "
)

// Query says what a snapshot must contain.
type Query struct {
	Shoots []string
	Seeds  []string
	Cloud  bool
	// Fields of the shoots and seeds that take requests of their own, by their names in expressions: they are read only if
	// they are among these. All else of a shoot comes with it.
	Fields []string
	// Within bounds how long it may take; 0 for as long as usual.
	Within time.Duration
	// UnaskedIsUnknown says that those that are not among them are unknown in the snapshot. Else they are empty.
	UnaskedIsUnknown bool
}

// Ask is the query for an expression.
func Ask(e *expression.Expression) Query {
	return Query{Shoots: e.Shoots(), Seeds: e.Seeds(), Cloud: e.AsksCloud(), Fields: e.Fields(), UnaskedIsUnknown: true}
}

// Observe takes a snapshot. What cannot be read in time is unknown in it.
func Observe(ctx context.Context, w World, clients *Clients, query Query) expression.Snapshot {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(query.Within, requestTimeout))
	defer cancel()
	s := expression.Snapshot{Shoots: map[string]expression.Shoot{}, Seeds: map[string]expression.Seed{}}
	var mu sync.Mutex
	var readers sync.WaitGroup
	for _, name := range query.Shoots {
		readers.Go(func() {
			shoot := observeShoot(ctx, w, name, clients, query)
			mu.Lock()
			defer mu.Unlock()
			s.Shoots[name] = shoot
		})
	}
	for _, name := range query.Seeds {
		readers.Go(func() {
			seed := observeSeed(ctx, name, clients, query)
			mu.Lock()
			defer mu.Unlock()
			s.Seeds[name] = seed
		})
	}
	if query.Cloud {
		readers.Go(func() { s.Cloud = observeCloud(ctx, w) })
	}
	readers.Wait()
	return s
}

func observeShoot(ctx context.Context, w World, name string, clients *Clients, query Query) expression.Shoot {
	key := w.ShootKey(name)
	garden, err := clients.Cluster(landscape.Garden)
	if err != nil {
		return expression.Shoot{Unknown: expression.Unknown{"*": notYetConnected + err.Error()}}
	}
	// Its users need no garden, which may not answer at all.
	users := expression.Shoot{}
	var asking sync.WaitGroup
	asking.Go(func() {
		users.Unknown = query.read([]reading{
			{[]string{"answers"}, func() (err error) { users.Answers, err = answers(ctx, w, name); return err }},
			{[]string{"answerTimes"}, func() (err error) { users.AnswerTimes, err = answerTimes(ctx, w, name); return err }},
		})
	})
	shoot := &gardencorev1beta1.Shoot{}
	err = garden.Get(ctx, key, shoot)
	asking.Wait()
	switch {
	case apierrors.IsNotFound(err):
		return expression.Shoot{}
	case err != nil:
		unknown := expression.Unknown{"*": err.Error()}
		for _, field := range []string{"answers", "answerTimes"} {
			if query.asksFor(field) {
				unknown[field] = users.Unknown[field]
			}
		}
		users.Unknown = unknown
		return users
	}
	seen := DescribeShoot(shoot)
	seen.Answers, seen.AnswerTimes = users.Answers, users.AnswerTimes
	seen.Unknown = query.read([]reading{
		{[]string{"epoch"}, func() error { seen.Epoch, err = claimedEpoch(ctx, garden, key); return err }},
		{[]string{"warnings"}, func() error { seen.Warnings, err = warningsOf(ctx, garden, shoot); return err }},
		{[]string{"state"}, func() error { seen.State, err = stateOf(ctx, garden, key); return err }},
		{[]string{"workers"}, func() error { seen.Workers, err = nodesOf(ctx, w, name); return err }},
	})
	if seen.Unknown == nil {
		seen.Unknown = users.Unknown
	} else {
		maps.Copy(seen.Unknown, users.Unknown)
	}
	return seen
}

// reading fills fields by requests of their own.
type reading struct {
	fields []string
	fill   func() error
}

// read what the query asks for, and say why the other fields are unknown.
func (q Query) read(all []reading) expression.Unknown {
	unknown := expression.Unknown{}
	for _, r := range all {
		why := ""
		if slices.ContainsFunc(r.fields, q.asksFor) {
			if err := r.fill(); err != nil {
				why = err.Error()
			}
		} else if q.UnaskedIsUnknown {
			why = expression.NotAsked
		}
		for _, field := range r.fields {
			if why != "" {
				unknown[field] = why
			}
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return unknown
}

func (q Query) asksFor(field string) bool { return slices.Contains(q.Fields, field) }

// warningsOf are the reasons of a shoot's warning events.
func warningsOf(ctx context.Context, garden client.Client, shoot *gardencorev1beta1.Shoot) ([]string, error) {
	found := &corev1.EventList{}
	if err := garden.List(ctx, found, client.InNamespace(shoot.Namespace)); err != nil {
		return nil, fmt.Errorf("list the events: %w", err)
	}
	reasons := sets.New[string]()
	for _, event := range found.Items {
		if event.Type == corev1.EventTypeWarning && event.InvolvedObject.UID == shoot.UID {
			reasons.Insert(event.Reason)
		}
	}
	return sets.List(reasons), nil
}

// claimedEpoch is the epoch of the claim to a shoot, as the garden has it; 0 if nobody has claimed it.
func claimedEpoch(ctx context.Context, garden client.Client, key types.NamespacedName) (int, error) {
	lease := &coordinationv1.Lease{}
	err := garden.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: claimPrefix + key.Name}, lease)
	if apierrors.IsNotFound(err) || err == nil && lease.Annotations[claimEpoch] == "" {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the claim: %w", err)
	}
	return strconv.Atoi(lease.Annotations[claimEpoch])
}

// ClaimedEpochs are the epochs of the claims to all shoots, as the garden has them. What is no epoch is left out.
func ClaimedEpochs(ctx context.Context, garden client.Client) (map[types.NamespacedName]int, error) {
	var leases coordinationv1.LeaseList
	if err := garden.List(ctx, &leases); err != nil {
		return nil, fmt.Errorf("list the claims: %w", err)
	}
	epochs := map[types.NamespacedName]int{}
	for i := range leases.Items {
		lease := &leases.Items[i]
		name, isClaim := strings.CutPrefix(lease.Name, claimPrefix)
		if epoch, err := strconv.Atoi(lease.Annotations[claimEpoch]); isClaim && err == nil {
			epochs[types.NamespacedName{Namespace: lease.Namespace, Name: name}] = epoch
		}
	}
	return epochs, nil
}

// DescribeShoot is a Shoot as expressions see it, but for its epoch.
func DescribeShoot(shoot *gardencorev1beta1.Shoot) expression.Shoot {
	status := shoot.Status
	seen := expression.Shoot{
		Exists: true, Seed: ptr.Deref(status.SeedName, ""), SpecSeed: ptr.Deref(shoot.Spec.SeedName, ""),
		Hibernated: status.IsHibernated, Deleting: shoot.DeletionTimestamp != nil, TechnicalID: status.TechnicalID,
		Status:     shoot.Labels[constants.ShootStatus],
		Conditions: statuses(status.Conditions), Constraints: statuses(status.Constraints),
		Reasons: reasons(status.Conditions, status.Constraints),
	}
	codes := sets.New[string]()
	for _, problem := range status.LastErrors {
		seen.LastErrors = append(seen.LastErrors, problem.Description)
		for _, code := range problem.Codes {
			codes.Insert(string(code))
		}
	}
	if len(codes) > 0 {
		seen.ErrorCodes = sets.List(codes)
	}
	if o := status.LastOperation; o != nil {
		seen.LastOperation = expression.Operation{
			Type: string(o.Type), State: string(o.State), Progress: int(o.Progress), Description: o.Description,
		}
	}
	seen.Kubernetes = shoot.Spec.Kubernetes.Version
	if m := status.LastMaintenance; m != nil {
		seen.Maintenance = expression.Maintenance{State: string(m.State), Description: m.Description,
			FailureReason: ptr.Deref(m.FailureReason, "")}
	}
	if updates := status.InPlaceUpdates; updates != nil && updates.PendingWorkerUpdates != nil {
		pending := slices.Concat(updates.PendingWorkerUpdates.AutoInPlaceUpdate,
			updates.PendingWorkerUpdates.ManualInPlaceUpdate)
		seen.PendingInPlace = slices.Sorted(slices.Values(pending))
	}
	seen.Rotated = rotated(status.Credentials)
	seen.Problems = problems(shoot)
	seen.Healthy = operationDone(status.LastOperation) && len(seen.Problems) == 0
	return seen
}

// rotated are the credentials whose last rotation is complete. Only the SSH key pair is ever rotated.
func rotated(credentials *gardencorev1beta1.ShootCredentials) []string {
	if credentials == nil || credentials.Rotation == nil || credentials.Rotation.SSHKeypair == nil {
		return nil
	}
	ssh := credentials.Rotation.SSHKeypair
	if ssh.LastInitiationTime == nil || ssh.LastCompletionTime == nil ||
		ssh.LastCompletionTime.Before(ssh.LastInitiationTime) {
		return nil
	}
	return []string{"sshKeypair"}
}

// WantsToSleep is spec.hibernation.enabled.
func WantsToSleep(shoot *gardencorev1beta1.Shoot) bool {
	return shoot.Spec.Hibernation != nil && ptr.Deref(shoot.Spec.Hibernation.Enabled, false)
}

func observeSeed(ctx context.Context, name string, clients *Clients, query Query) expression.Seed {
	seen := expression.Seed{}
	var err error
	seen.Unknown = query.read([]reading{
		{[]string{"ready", "conditions"}, func() error { return seedConditions(ctx, name, clients, &seen) }},
		{[]string{"bound"}, func() error { seen.Bound, err = countBound(ctx, name, clients); return err }},
		{[]string{"shoots"}, func() error { seen.Shoots, err = countControlPlanes(ctx, name, clients); return err }},
	})
	return seen
}

func seedConditions(ctx context.Context, name string, clients *Clients, into *expression.Seed) error {
	garden, err := clients.Cluster(landscape.Garden)
	if err != nil {
		return err
	}
	seed := &gardencorev1beta1.Seed{}
	if err := garden.Get(ctx, types.NamespacedName{Name: name}, seed); client.IgnoreNotFound(err) != nil {
		return err
	}
	into.Conditions = statuses(seed.Status.Conditions)
	into.Ready = into.Conditions[string(gardencorev1beta1.SeedGardenletReady)] == string(gardencorev1beta1.ConditionTrue)
	return nil
}

func countBound(ctx context.Context, seed string, clients *Clients) (bound int, err error) {
	garden, err := clients.Cluster(landscape.Garden)
	if err != nil {
		return 0, err
	}
	shoots := &gardencorev1beta1.ShootList{}
	if err := garden.List(ctx, shoots); err != nil {
		return 0, err
	}
	for _, shoot := range shoots.Items {
		if ptr.Deref(shoot.Spec.SeedName, "") == seed {
			bound++
		}
	}
	return bound, nil
}

func countControlPlanes(ctx context.Context, seed string, clients *Clients) (int, error) {
	c, err := clients.Cluster(seed)
	if err != nil {
		return 0, err
	}
	namespaces := &metav1.PartialObjectMetadataList{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	err = c.List(ctx, namespaces, client.MatchingLabels{constants.GardenRole: constants.GardenRoleShoot})
	return len(namespaces.Items), err
}

func statuses(conditions []gardencorev1beta1.Condition) map[string]string {
	found := map[string]string{}
	for _, condition := range conditions {
		found[string(condition.Type)] = string(condition.Status)
	}
	return found
}

func reasons(lists ...[]gardencorev1beta1.Condition) map[string]string {
	found := map[string]string{}
	for _, condition := range slices.Concat(lists...) {
		found[string(condition.Type)] = condition.Reason
	}
	return found
}
