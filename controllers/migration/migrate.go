package migration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/backupentry"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/owner"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
	"github.com/transplant-sim/transplant/controllers/flow"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// migrateFlow is the source's part (docs/specification/migration.md#spec-2-6): everything is released, the state is
// saved, the epoch ends with the final snapshot, and status.seedName gives the shoot to the destination. A crash
// between any two steps leaves the source responsible, or, once its epoch has ended, nobody: never both.
func (f *Flows) migrateFlow(o *controlplane.Operation) *run.Flow {
	return &run.Flow{
		Type:          gardencorev1beta1.LastOperationTypeMigrate,
		Initialized:   "Preparation of Shoot cluster for migration initialized.",
		Succeeded:     "Shoot cluster has been successfully prepared for migration.",
		ReasonStarted: "PrepareMigration", ReasonEnded: "MigrationPrepared", ReasonError: "MigrationPreparationFailed",
		Work: func(ctx context.Context, reporter *run.Reporter) error {
			if err := o.Cluster.Sync(ctx); err != nil {
				return err
			}
			m := &migrate{Operation: o, release: f.Release, events: o.Events}
			if err := m.survey(ctx); err != nil {
				return err
			}
			return m.graph().Run(ctx, reporter)
		},
		Consumes: []string{constants.ShootTasks},
		Finish:   func(status *gardencorev1beta1.ShootStatus) { status.SeedName = o.Shoot.Spec.SeedName },
	}
}

// reasonStateDamaged is the reason of the event that names what of the saved state is lost.
const reasonStateDamaged = "StateDamaged"

// migrate is one run of the migrate flow. What it goes by is read at its start
// (docs/specification/migration.md#spec-2-6).
type migrate struct {
	*controlplane.Operation
	release Releaser
	events  scope.Events
	// added is the state as this run has saved it.
	added *shootstate.Added
	// next is what is to be done with the epoch. AwaitEnd and Refuse: etcd may have run in it. Act: a destination that is
	// abandoned before that has taken the shoot over, and written nothing. HandOn: it has not even a namespace of its
	// epoch, and the BackupEntry is as its source has released it (released), or still the lost seed's, or the destination
	// has the shoot already.
	next tenure.Answer
	// here, api: what of the control plane is there. owned: the BackupEntry still belongs to this seed.
	here                 tenure.Tenure
	api, owned, released bool
}

func (m *migrate) survey(ctx context.Context) error {
	here, err := m.Ownership.Survey(ctx)
	if err != nil {
		return err
	}
	m.here = here.Tenure
	if m.api, err = m.Workloads.Exists(ctx, workload.KubeAPIServer); err != nil {
		return err
	}
	entry, err := m.Entries.Get(ctx)
	if err != nil {
		return err
	}
	m.owned = entry != nil && entry.Spec.SeedName != nil && *entry.Spec.SeedName == m.SeedName
	m.here.Etcd.Wakeable = m.api
	m.Epoch, m.next = m.here.Epoch, m.here.Next(tenure.Migrate)
	if m.next == tenure.HandOn {
		m.released = entry != nil && handedOver(entry) == nil
		if m.released || entry != nil && lifecycle.Forced(m.Shoot) &&
			ptr.Deref(entry.Status.SeedName, m.SeedName) != m.SeedName {
			return nil
		}
		// The destination has the shoot already: a garden that went back to a backup has forgotten the migration.
		if m.released, err = m.arrived(ctx, here); err != nil || m.released {
			return err
		}
		m.next = tenure.AwaitEnd // the entry was adopted here, so etcd may have run
		if !m.here.Etcd.Exists {
			m.next = tenure.Refuse
		}
	}
	if m.owned && m.next == tenure.Refuse {
		return errNoEtcd
	}
	m.api = m.api && m.next != tenure.Act // one of an earlier epoch has no etcd to live on
	return m.refuseBastions(ctx)
}

// arrived says whether the destination has the shoot by its record in DNS, and nothing of it is here.
func (m *migrate) arrived(ctx context.Context, here *owner.Survey) (bool, error) {
	if m.here.Etcd.Exists {
		return false, nil
	}
	seed, _, err := here.Elsewhere(ctx)
	return seed != nil && seed.Name == ptr.Deref(m.Shoot.Spec.SeedName, ""), err
}

// refuseBastions is an error while the shoot has Bastions (docs/specification/migration.md#spec-2-4): they do not move,
// and once this epoch has ended nobody may delete what they stand for in the cloud. When the API server is gone it is
// too late to wait for anybody.
func (m *migrate) refuseBastions(ctx context.Context) error {
	if !m.api {
		return nil
	}
	bastions, err := m.Objects.List(ctx, extensionsv1alpha1.BastionResource)
	if err != nil || len(bastions) == 0 {
		return err
	}
	names := make([]string, 0, len(bastions))
	for _, bastion := range bastions {
		names = append(names, bastion.GetName())
	}
	return &errorcodes.Error{
		Message: fmt.Sprintf("shoot %q still has Bastions: %s", client.ObjectKeyFromObject(m.Shoot),
			strings.Join(names, ", ")),
		Codes: []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorRetryableConfigurationProblem},
	}
}

// Kinds of extension objects by the phase in which they are migrated (docs/specification/migration.md#spec-2-6-step-15,
// docs/specification/migration.md#spec-2-6-step-28, docs/specification/migration.md#spec-2-6-step-39,
// docs/specification/migration.md#spec-2-6-step-43).
var (
	beforeAPIServer = []string{extensionsv1alpha1.ContainerRuntimeResource, extensionsv1alpha1.NetworkResource,
		extensionsv1alpha1.OperatingSystemConfigResource, extensionsv1alpha1.WorkerResource}
	withAPIServer  = []string{extensionsv1alpha1.ControlPlaneResource}
	afterAPIServer = []string{extensionsv1alpha1.InfrastructureResource, extensionsv1alpha1.DNSRecordResource}
)

const handOver flow.TaskID = "Migrating BackupEntry to new seed"

func (m *migrate) graph() *flow.Graph {
	g := &flow.Graph{}
	after := func(tasks ...flow.TaskID) []flow.TaskID { return tasks }
	// what may lie here of an epoch before is for the clean-up, and what is a lost seed's for the next one to adopt
	if m.next == tenure.HandOn {
		g.Add(flow.Task{Name: handOver, Run: m.handOverBackups, Skip: !m.released})
		return g
	}
	// Who sleeps has a Deployment of the API server. Once that is gone everything is released, and the etcd of an epoch
	// that has ended is never ready again.
	wake := m.MayBeAsleep() && m.owned && m.api

	awake := g.Add(flow.Task{Name: "Scaling Kubernetes API Server up and waiting until ready", Run: m.WakeUp, Skip: !wake})
	granted := g.Add(flow.Task{
		Name: "Granting access to Shoot", Run: m.Access.Repair, After: after(awake), Skip: !m.api,
	})
	manager := g.Add(flow.Task{
		Name: "Deploying gardener-resource-manager", Run: m.ResourceManager.Awaken, After: after(awake, granted),
		Skip: !m.api,
	})
	resources := g.Add(flow.Task{Name: "Deleting all Managed Resources from the Shoot's namespace",
		Run: m.ResourceManager.DeleteResources, After: after(manager)})
	machines := g.Add(flow.Task{Name: "Deleting machine-controller-manager",
		Run: m.Workers.DeleteMachineController, After: after(resources)})
	// What is no longer wanted is deleted for good, and before anything is released: what moved would be nobody's.
	noExtensions := g.Add(flow.Task{Name: "Deleting stale extensions", Run: m.Extensions.DeleteStale,
		After: after(manager), Skip: !m.api})
	noRuntimes := g.Add(flow.Task{Name: "Deleting stale container runtime resources", Run: m.Runtimes.DeleteStale,
		After: after(manager), Skip: !m.api})
	early := g.Add(flow.Task{Name: "Migrating extension resources", Run: m.Objects.MigrateAll(beforeAPIServer...),
		After: after(machines, noExtensions, noRuntimes)})
	extensions := g.Add(flow.Task{Name: "Migrating extensions before kube-apiserver",
		Run: m.Extensions.Migrate(gardencorev1beta1.BeforeKubeAPIServer), After: after(resources, noExtensions)})
	saved := g.Add(flow.Task{Name: "Persisting ShootState in garden cluster", Run: m.persist,
		After: after(early, extensions)})
	removed := g.Add(flow.Task{Name: "Deleting extension resources from the Shoot namespace",
		Run: m.Objects.DeleteAll(beforeAPIServer...), After: after(saved)})
	shallow := g.Add(flow.Task{Name: "Shallow-deleting machine resources from the Shoot namespace",
		Run: m.Workers.ShallowDeleteMachines, After: after(saved)})
	removedExtensions := g.Add(flow.Task{Name: "Deleting extensions before kube-apiserver",
		Run: m.Extensions.DeleteMigrated(gardencorev1beta1.BeforeKubeAPIServer), After: after(removed)})
	controlPlane := g.Add(flow.Task{Name: "Migrating shoot control plane", Run: m.Objects.MigrateAll(withAPIServer...),
		After: after(removedExtensions, shallow)})
	left := g.Add(flow.Task{Name: "Waiting until shoot managed resources have been deleted",
		Run: m.ResourceManager.WaitResources, After: after(controlPlane), Skip: !m.api})
	// Since the flow began the extension makes nothing for new ones; those that were asked for just before go while they
	// can: see refuseBastions, which asks no more when the API server is gone.
	bastions := g.Add(flow.Task{Name: "Deleting Bastions", Run: m.Objects.DeleteAll(extensionsv1alpha1.BastionResource),
		After: after(controlPlane), Skip: !m.api})
	stopped := g.Add(flow.Task{Name: "Deleting kube-apiserver deployment", Run: m.APIServer.DeleteAll,
		After: after(left, bastions)})
	lateExtensions := g.Add(flow.Task{Name: "Migrating extensions after kube-apiserver",
		Run: m.Extensions.Migrate(gardencorev1beta1.AfterKubeAPIServer), After: after(stopped)})
	late := g.Add(flow.Task{Name: "Migrating shoot infrastructure and DNS records",
		Run:   m.Objects.MigrateAll(afterAPIServer...),
		After: after(stopped)})
	// State that extensions wrote while they were migrated is saved too (docs/specification/quirks.md#quirk-m1).
	savedAgain := g.Add(flow.Task{Name: "Persisting late state in garden cluster", Run: m.persist,
		After: after(late, lateExtensions)})
	removedLate := g.Add(flow.Task{Name: "Deleting extensions after kube-apiserver",
		Run: m.Extensions.DeleteMigrated(gardencorev1beta1.AfterKubeAPIServer), After: after(savedAgain)})
	cleared := g.Add(flow.Task{Name: "Deleting infrastructure and DNS records from the Shoot namespace",
		Run: m.Objects.DeleteAll(slices.Concat(withAPIServer, afterAPIServer)...), After: after(savedAgain)})
	final := g.Add(flow.Task{Name: "Creating final ETCD snapshot and ending the ownership epoch", Run: m.endEpoch,
		After: after(stopped), Skip: !m.owned})
	handed := g.Add(flow.Task{Name: handOver, Run: m.handOverBackups, After: after(final, cleared, removedLate)})
	g.Add(flow.Task{
		Name: "Stopping main etcd", Run: func(ctx context.Context) error { return m.Etcd.Scale(ctx, 0) },
		After: after(handed), Skip: !m.here.Etcd.Exists,
	})
	return g
}

// persist saves the state beside what is saved already: in a second run some objects are gone
// (docs/specification/migration.md#spec-2-6). Others write the ShootState too: the StateSync, with what it had
// collected before the migration began, and who protects it.
func (m *migrate) persist(ctx context.Context) error {
	err := retry.RetryOnConflict(objects.ConflictBackoff, func() error {
		added, err := m.States.Add(ctx, client.ObjectKeyFromObject(m.Shoot), m.collect, m.added)
		if err == nil {
			m.added = added
		}
		return err
	})
	if err != nil || len(m.added.LeftOut) == 0 {
		return err
	}
	m.events.Event(m.Shoot, corev1.EventTypeWarning, reasonStateDamaged,
		fmt.Sprintf("This was saved, is damaged, and is not in the seed any more; it does not move with the shoot: %s",
			strings.Join(m.added.LeftOut, ", ")))
	return nil
}

// collect reads what is to be saved, while the shoot is in the hands of this run.
func (m *migrate) collect(ctx context.Context) (*shootstate.State, error) {
	state, err := shootstate.Collect(ctx, m.Seed, m.Namespace(), m.BackupEntryName())
	if err != nil {
		return nil, err
	}
	state.Owner = m.Shoot.UID
	return state, m.Status.StillMine(ctx)
}

// endEpoch is the point of no return: to abort after it means a take-over with a new epoch (docs/ownership.md#o11). An
// epoch that has its final snapshot has ended, whether or not its guard is still there to say so: if its data is lost,
// etcd does not start with it any more. If nobody knows, the guard is asked.
func (m *migrate) endEpoch(ctx context.Context) error {
	// No guard is there, and no data: who comes next waits until what was granted has lapsed (docs/ownership.md#o6).
	if m.next == tenure.Act {
		return m.noteEnd(ctx)
	}
	if ended, err := m.Entries.HasFinalSnapshot(ctx, m.Epoch); err != nil || !ended {
		if err := m.askGuardToEnd(ctx); err != nil {
			return err
		}
	}
	return m.noteEnd(ctx) // before etcd stops, and with it the guard that says the same
}

// noteEnd says on the control-plane namespace that this seed has ended the epoch. DNS names the epoch until the
// destination has written there, which then waits for nobody: extensions, which read DNS where no guard runs, must not
// be granted anything by it.
func (m *migrate) noteEnd(ctx context.Context) error {
	return m.Ownership.Advance(ctx, tenure.Ended, m.Epoch)
}

// releasePatience is how long one run waits for the end of the epoch. Then the Shoot says what is waited for, and the
// next run waits again: whatever the guard has not saved is nowhere else.
const releasePatience = 5 * time.Minute

func (m *migrate) askGuardToEnd(ctx context.Context) error {
	guard, err := m.Etcd.Guard(ctx)
	if err == nil {
		bounded, cancel := context.WithTimeout(ctx, releasePatience)
		defer cancel()
		err = m.release.Release(bounded, guard, m.Epoch)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("wait for the guard of epoch %d to save the final snapshot, without which the shoot would lose "+
			"data on "+
			"its way (the logs of containers guard and backup of pod %s-0 in namespace %q say what keeps it from that; "+
			"mend this, the migration is tried again): %w", m.Epoch, workload.Etcd, m.Namespace(), err)
	}
	return nil
}

// handOverBackups gives the BackupEntry to the destination and waits until this seed has released it.
func (m *migrate) handOverBackups(ctx context.Context) error {
	entry, err := m.Entries.Get(ctx)
	if err != nil {
		return err
	}
	if entry == nil {
		return fmt.Errorf("backup entry %q is missing", m.BackupEntryName())
	}
	// A destination that was lost before the hand-over was done may still be named: the entry is not its own yet.
	ours := ptr.Deref(entry.Status.SeedName, m.SeedName) == m.SeedName
	if holder := ptr.Deref(entry.Spec.SeedName, ""); holder != m.SeedName && holder != ptr.Deref(m.Shoot.Spec.SeedName,
		"") && !ours {
		return fmt.Errorf("hand over backup entry %q: it is seed %q's", entry.Name, holder)
	}
	before := entry.DeepCopy()
	entry.Spec.SeedName = m.Shoot.Spec.SeedName
	// what this seed has asked for, and not got, is not for the next to do unasked
	delete(entry.Annotations, constants.GardenerOperation)
	// The lock is also for an entry that stays: another seed may have adopted it since it was read.
	if err := m.Garden.Patch(ctx, entry, patch.AsRead(before)); err != nil {
		return fmt.Errorf("hand over backup entry %q: %w", entry.Name, err)
	}
	return m.AwaitEntry(ctx, entry.Name, 10*time.Minute, fmt.Sprintf("the hand-over of backup entry %q", entry.Name),
		func(ctx context.Context, garden client.Reader) error {
			entry, err := backupentry.Read(ctx, garden, client.ObjectKeyFromObject(entry))
			if err != nil {
				return err
			}
			if entry == nil {
				return scope.Permanent(fmt.Errorf("backup entry %q is gone", m.BackupEntryName()))
			}
			if taken := entry.Status.SeedName; taken != nil && *taken == ptr.Deref(m.Shoot.Spec.SeedName, "") {
				return nil // released, and adopted already
			}
			return handedOver(entry)
		})
}

func handedOver(entry *gardencorev1beta1.BackupEntry) error {
	last := entry.Status.LastOperation
	if entry.Status.SeedName != nil || last == nil || last.Type != gardencorev1beta1.LastOperationTypeMigrate ||
		last.State != gardencorev1beta1.LastOperationStateSucceeded {
		return fmt.Errorf("its source has not released it yet")
	}
	return nil
}
