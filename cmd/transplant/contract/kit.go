// Package contract is the command `contract`: it tries an extension against the clauses of docs/contract.md. It starts
// two seeds with the extension and the simulated cloud, and plays the gardenlet. What it has seen is judged by
// sim/contract.
//
// There is no garden and no control plane of a shoot. Runs of scenarios have them.
package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/kind"
	"github.com/transplant-sim/transplant/clusters/switchboard"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/contract/tap"
	"github.com/transplant-sim/transplant/sim/landscape"
)

const (
	// The names stand in no state by chance: docs/contract.md#clause-c3 looks for that of the source.
	sourceName, destinationName = "kit-source", "kit-destination"

	fieldOwner = client.FieldOwner("contract-kit")
	// applierOwner writes the status of ManagedResources. What has the other owner was made by the kit.
	applierOwner = client.FieldOwner("contract-kit-applier")

	// poll is between two attempts of what cannot be waited for.
	poll = 100 * time.Millisecond
	// settleTime is how long what follows an answer, or what was seen elsewhere, may take.
	settleTime = 300 * time.Millisecond
	// watchAgain is how long a watch of the kit that has ended may take to be there again.
	watchAgain = 5 * time.Second
	// quietTime is how long the kit looks whether an extension does what it should not.
	quietTime = 3 * time.Second
	// atOnce bounds how many universes are in work.
	atOnce = 24
)

// side is a seed.
type side struct {
	name, actor string
	config      *rest.Config
	client      client.WithWatch
	host        string // of the node, on which the API server runs
	signal      signaller
	tap         *tap.Tap
	objects     map[string]*observer // by kind
	managed     *observer
	machines    []*observer // whose errors are those of the machine controller that the kit plays
	machine     *observer   // that of Machines
}

// kit is the running seeds with the extension.
type kit struct {
	landscape      environment.Landscape
	environment    *environment.Environment
	sides          []*side // the source, then the destination
	admin          *cloud.Client
	observer       ledger
	zone           string
	quiet, settles time.Duration
	multiplier     int
	kills, replays int
	buckets        sync.Map // the names of those that BackupBuckets stand for
	progress       func(format string, arguments ...any)
}

func (k *kit) source() *side                  { return k.sides[0] }
func (k *kit) destination() *side             { return k.sides[1] }
func (k *kit) extension() landscape.Extension { return k.environment.Extensions[0] }

// waits are those of the gardenlet (docs/specification/extensions.md#spec-3-5).
var waits = map[string]time.Duration{
	extensionsv1alpha1.InfrastructureResource: 10 * time.Minute, extensionsv1alpha1.DNSRecordResource: 2 * time.Minute,
}

const usualWait = 3 * time.Minute

// gardenletWait is how long a gardenlet waits for a kind of the extension.
func gardenletWait(s subject) time.Duration {
	wait, has := waits[s.kind.Name]
	switch {
	case s.resource.ReconcileTimeout.Duration > 0: // only an Extension can have one
		wait = s.resource.ReconcileTimeout.Duration
	case !has:
		wait = usualWait
	}
	return wait
}

// waitFor is how long the kit waits for an answer. What is missing then is a finding, so it is never shorter than the
// wait of a gardenlet.
func (k *kit) waitFor(s subject) time.Duration { return gardenletWait(s) * time.Duration(k.multiplier) }

// ledger is the cloud's record as the observer reads it.
type ledger struct{ *cloud.Client }

// entries behind a number.
func (l ledger) entries(ctx context.Context, after int64) ([]cloud.LedgerEntry, error) {
	var all []cloud.LedgerEntry
	for {
		page, err := l.Ledger(ctx, cloud.LedgerQuery{After: after})
		if err != nil {
			return nil, fmt.Errorf("read the ledger of the cloud: %w", err)
		}
		if len(page) == 0 {
			return all, nil
		}
		all, after = append(all, page...), page[len(page)-1].Seq
	}
}

// connect makes clients and observers, and puts the taps into the links. They work until ctx is done.
func (k *kit) connect(ctx context.Context, subjects []subject) error {
	var err error
	if k.admin, err = k.environment.CloudAs(k.landscape, environment.CloudAdmin); err != nil {
		return err
	}
	if k.observer.Client, err = k.environment.CloudAs(k.landscape, environment.CloudObserver); err != nil {
		return err
	}
	zones, err := k.admin.Zones().List(ctx, cloud.Filter{})
	if err != nil {
		return fmt.Errorf("list the DNS zones: %w", err)
	}
	for _, zone := range zones {
		if zone.Name == environment.Domain {
			k.zone = zone.ID
		}
	}
	for _, name := range []string{sourceName, destinationName} {
		s, err := k.connectSide(ctx, name, subjects)
		if err != nil {
			return fmt.Errorf("connect to %s: %w", name, err)
		}
		k.sides = append(k.sides, s)
	}
	return k.makeBackupBuckets(ctx)
}

func (k *kit) connectSide(ctx context.Context, name string, subjects []subject) (*side, error) {
	s := &side{name: name, actor: k.extension().ActorOn(name), tap: tap.New(), objects: map[string]*observer{},
		managed: newObserver()}
	found, err := k.landscape.Cluster(name)
	if err != nil {
		return nil, err
	}
	switch on := found.(type) {
	case *embedded.Cluster:
		s.host, s.signal = on.Plan().Node.String(), inPods(on)
	case *kind.Cluster:
		s.host, s.signal = on.Node(), on.SignalWhere
	}
	if s.config, err = found.Connect(clusters.Observer); err != nil {
		return nil, err
	}
	s.config.WarningHandler = rest.NoWarnings{} // all types are listed, also what nobody should use any more
	if s.client, err = environment.ObserverClient(k.landscape, name); err != nil {
		return nil, err
	}
	toSeed, err := k.landscape.Links().Link(s.actor, name)
	if err != nil {
		return nil, err
	}
	toTheCloud, err := k.landscape.Links().Link(s.actor, switchboard.Cloud)
	if err != nil {
		return nil, err
	}
	toSeed.Begin(tap.ToAPI{Tap: s.tap})
	toTheCloud.Begin(tap.ToCloud{Tap: s.tap})
	if infrastructure, has := infrastructureOf(k.extension()); has { // others may need one
		subjects = append(slices.Clone(subjects), infrastructure)
	}
	for _, one := range subjects {
		if s.objects[one.kind.Name] == nil {
			s.objects[one.kind.Name] = newObserver()
			go s.objects[one.kind.Name].follow(ctx, s.client, one.kind.GroupVersionKind(), nil)
		}
	}
	go s.managed.follow(ctx, s.client, resourcesv1alpha1.SchemeGroupVersion.WithKind("ManagedResource"),
		applied(s.client))
	for _, kind := range machineKinds {
		of, err := apiutil.GVKForObject(kind, s.client.Scheme())
		if err != nil {
			return nil, fmt.Errorf("find a machine kind: %w", err)
		}
		s.machines = append(s.machines, newObserver())
		follower := s.machines[len(s.machines)-1]
		if of.Kind == machineKind {
			s.machine = follower
		}
		go follower.follow(ctx, s.client, of, machines(s.client, name))
	}
	return s, nil
}

// subjects are the kinds of the extension that the kit has objects of, and why there are no others.
func subjectsOf(e landscape.Extension, only []string) (subjects []subject, without []contract.KindReport) {
	for i, r := range e.Resources {
		known, _ := extensionsv1alpha1.KindByName(r.Kind)
		named := func(one string) bool { return strings.EqualFold(one, r.Kind) || strings.EqualFold(one, r.Key()) }
		switch {
		case len(only) > 0 && !slices.ContainsFunc(only, named):
		case !r.IsPrimary():
			without = append(without, contract.KindReport{Kind: r.Kind, Type: r.Type,
				Reason: "the extension is not primary for it: nobody waits for its answers"})
		case specs[r.Kind] == nil:
			without = append(without, contract.KindReport{Kind: r.Kind, Type: r.Type,
				Reason: "this version of the kit has no object of the kind"})
		default:
			subjects = append(subjects, subject{i, r, known})
		}
	}
	return subjects, without
}

// evidence of a kind of which nothing is seen yet.
func (k *kit) evidence(s subject) *contract.Evidence {
	return &contract.Evidence{Kind: s.kind.Name, Type: s.resource.Type,
		StateMayChange: s.resource.StateMayChange, Wait: gardenletWait(s),
		HasExternal: s.kind.Name == extensionsv1alpha1.InfrastructureResource ||
			s.kind.Name == extensionsv1alpha1.DNSRecordResource ||
			s.kind.Name == extensionsv1alpha1.BackupBucketResource,
		WithoutShoot: s.kind.Name == extensionsv1alpha1.InfrastructureResource ||
			s.kind.Name == extensionsv1alpha1.DNSRecordResource || s.resource.Lifecycle != nil &&
			ptr.Deref(s.resource.Lifecycle.Migrate, "") == gardencorev1beta1.AfterKubeAPIServer,
		Stays: !s.kind.Migrates,
		Seeds: []string{k.source().name, k.source().host},
		Walks: map[string]*contract.Walk{}}
}

// try takes all walks of all kinds, and then the crash points.
func (k *kit) try(ctx context.Context, subjects []subject, clauses []contract.Clause) ([]*contract.Evidence, error) {
	points := contract.Needs(clauses, contract.Short)
	var all []*contract.Evidence
	var attempts []attempt
	for _, s := range subjects {
		e := k.evidence(s)
		if points {
			e.CrashSteps = e.Takes(contract.CrashSteps)
		}
		all = append(all, e)
		for walk, steps := range contract.WalkSteps {
			if !contract.Needs(clauses, walk) {
				steps = nil
				if points {
					steps = contract.Compared(walk)
				}
			}
			if steps = e.Takes(steps); len(steps) > 0 {
				attempts = append(attempts, attempt{s, e, walk, walk, steps})
			}
		}
	}
	if points { // before much is tried
		if err := k.checkKill(ctx); err != nil {
			return nil, err
		}
	}
	if err := k.walkAll(ctx, attempts); err != nil || !points {
		return all, err
	}
	return all, k.crashAll(ctx, subjects, all)
}

// attempt is a walk to take. The shoot has the name.
type attempt struct {
	subject    subject
	of         *contract.Evidence
	walk, name string
	steps      []string
}

// walkAll takes walks, several at once.
func (k *kit) walkAll(ctx context.Context, attempts []attempt) error {
	var mu sync.Mutex
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, a := range attempts {
		group.Go(func() error {
			u := k.newWalk(a.subject, a.walk, a.name)
			if len(a.of.CrashSteps) > 0 {
				u.compared = contract.Compared(a.walk)
			}
			err := u.walkThrough(groupCtx, a.steps)
			if err == nil {
				err = asking{u}.clear(groupCtx)
			}
			mu.Lock()
			defer mu.Unlock()
			a.of.Walks[a.walk] = u.walk
			return err
		})
	}
	return group.Wait()
}

// sleep until the time has passed, or ctx is done.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errors.Join(errors.New("interrupted"), context.Cause(ctx))
	}
}
