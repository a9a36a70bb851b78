// Package scope has what the tasks of one run of a flow share: the shoot and its seed, the clients, and what follows
// from them. Every component of a control plane stands on it. It deploys nothing, and it decides nothing about when a
// flow runs.
package scope

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

// Scope is what one run of a flow for one shoot on one seed works with. It is made anew for every run.
type Scope struct {
	Settings
	Log   logr.Logger
	Clock clock.Clock
	// Boottime counts pauses too; ownership goes by it.
	Boottime ownership.Clock
	Garden   client.Client
	// Seed is an uncached client: a flow must see what it has just written.
	Seed   client.Client
	Bell   *Bell
	Shoots ShootClients
	// Reach is how clients of other kinds than Shoots gives reach them; nil where no pods run on nodes.
	Reach  ShootConfigs
	Owners Authorities
	Bucket Buckets
	States States
	// Watched reads the seed as the watches behind the Bell have seen it, which may be long ago; nil for none. See Await.
	Watched client.Reader
	// WatchedGarden does the same for Shoots and BackupEntries of the garden; nil for none.
	WatchedGarden client.Reader

	Shoot *gardencorev1beta1.Shoot
	// SeedObject is the Seed that this gardenlet serves.
	SeedObject *gardencorev1beta1.Seed
	// State is set while restoring: what the ShootState says, expanded (docs/specification/state-size.md#spec-9-5).
	State *shootstate.State
	// Epoch is the ownership epoch this run acts in; set when it holds the ownership.
	Epoch int64
	// Takeover is how far the take-over of the shoot has come in this process.
	Takeover *ownership.Takeover
	// Events of the shoot; set when the run has begun.
	Events Events
	// Running is the operation that this run has begun.
	Running gardencorev1beta1.LastOperationType
	// Confirmed is the shoot as the garden last said that it is this run's.
	Confirmed Confirmed
	// registered types of Extensions.
	registered registered
	// Fresh is true once this run has created the control-plane namespace: what no run before has left need not be looked
	// for. It is set before any task that comes after the namespace.
	Fresh bool
	// SecretData are those of Secrets in the control-plane namespace that this run has made sure of, by name: each a
	// map[string][]byte that nobody may change. ClusterIPs are those of Services there, as strings.
	SecretData, ClusterIPs sync.Map
}

// Settings are the gardenlet's settings that shape a control plane. All durations are positive.
type Settings struct {
	// SeedName is the Seed that this gardenlet serves.
	SeedName string
	// InternalDomain is the domain below which shoots and their owner records live.
	InternalDomain string
	// Image holds our own programs, KubernetesImage etcd and the Kubernetes ones.
	Image, KubernetesImage string
	// User is whom the programs of control planes run as, with the group of the same number; 0 leaves it to their images.
	User int64
	// OwnerCheckInterval and OwnerCheckTimeout are those of docs/ownership.md#o1.
	OwnerCheckInterval, OwnerCheckTimeout time.Duration
	// DeltaInterval and FullSnapshotInterval are those of the backup sidecar.
	DeltaInterval, FullSnapshotInterval time.Duration
	// ExtensionRoles are the ClusterRoles that extensions have in control-plane namespaces, each with the ServiceAccount
	// (namespace/name) that has it. BackupExtensions are the ServiceAccounts of those that reconcile BackupBuckets or
	// BackupEntries.
	ExtensionRoles   map[string]string
	BackupExtensions []string
	// DNSTTL is the time to live of the shoot's DNS records; it is written in whole seconds.
	DNSTTL time.Duration
	// WaitInterval is how often a wait looks again when no watch woke it.
	WaitInterval time.Duration
	// GatewayNamespace and GatewayService name the Service by which clients outside reach the seed's gateway.
	GatewayNamespace, GatewayService string
	// GatewayPort is the port of the shoot's API server as clients outside see it, TunnelPort that of its reversed tunnel.
	GatewayPort, TunnelPort int32
	// NodeDNSServer is host:port of the DNS server that pods on nodes ask for the names of shoots; empty for the resolver
	// that their nodes give them.
	NodeDNSServer string
}

// ShootClients gives clients for the API servers of shoots, by their public names.
type ShootClients interface {
	// For returns a client that trusts caPEM and authenticates with token at server.
	For(server string, caPEM []byte, token string) (client.Client, error)
}

// ShootConfigs say how the API servers of shoots are reached, by their public names.
type ShootConfigs interface {
	// Config is for a client that trusts caPEM and authenticates with token at server.
	Config(server string, caPEM []byte, token string) *rest.Config
}

// Authorities are the two places that record a shoot's owner (docs/ownership.md#spec-9-1).
type Authorities interface {
	// Claim is the ownership Lease in the garden.
	Claim(namespace, lease string) ownership.Authority
	// Decision is the record in DNS.
	Decision(record string) ownership.Authority
}

// States keeps the ShootStates in the garden.
type States interface {
	// Load returns the state of a shoot, expanded and verified. A missing or damaged part is an error that names it.
	Load(ctx context.Context, shoot client.ObjectKey) (*shootstate.State, error)
	// Save keeps the state of a shoot in place of what is there, Add that of one that is leaving over what is there and
	// over what the same run has added before. Both may end with a conflict: then nothing is saved, and the state is to be
	// collected anew.
	Save(ctx context.Context, shoot client.ObjectKey, source shootstate.Source) error
	Add(ctx context.Context, shoot client.ObjectKey, source shootstate.Source,
		before *shootstate.Added) (*shootstate.Added, error)
	// Spend notes that nothing is left of the shoot that its state could restore. Who may is as for Delete.
	Spend(ctx context.Context, shoot client.ObjectKey, epoch int64, mine func(context.Context) error) error
	// Delete removes the state of a shoot as who acts in the epoch; that it is gone already is fine. mine returns why it
	// must not, and is asked once the state is known by its version.
	Delete(ctx context.Context, shoot client.ObjectKey, epoch int64, mine func(context.Context) error) error
}

// Buckets gives access to backups while a control plane is being restored.
type Buckets interface {
	// Copy copies what the epoch starts from below prefix from one bucket to the other, and fixes it there; both may be
	// the same. It may be repeated. With lastGood, what is damaged is left out, and what would have continued it; leftOut
	// names it.
	Copy(ctx context.Context, from, to, prefix string, epoch int64, lastGood bool) (leftOut []string, err error)
	// Check returns why the backups below prefix cannot be restored, with backup.ErrNoBackups of controllers/etcd if there
	// are none; nil if they can.
	Check(ctx context.Context, bucket, prefix string) error
	// Readable returns what is damaged, if with lastGood Copy would find nothing to begin with.
	Readable(ctx context.Context, bucket, prefix string) error
	// Purge removes all objects below prefix.
	Purge(ctx context.Context, bucket, prefix string) error
	// Superseded reports whether a newer epoch than this one has begun: what this one uploads belongs to no chain any
	// more.
	Superseded(ctx context.Context, bucket, prefix string, epoch int64) (bool, error)
	// HasFinalSnapshot reports whether the final snapshot of the epoch is below prefix.
	HasFinalSnapshot(ctx context.Context, bucket, prefix string, epoch int64) (bool, error)
}

// Events records what happens to a shoot where its users see it.
type Events interface {
	Event(shoot *gardencorev1beta1.Shoot, eventType, reason, message string)
}

// Namespace is the name of the control-plane namespace in the seed, the technical id.
func (s *Scope) Namespace() string { return s.Shoot.Status.TechnicalID }

// Workerless reports whether the shoot has no workers, and so no infrastructure.
func (s *Scope) Workerless() bool { return lifecycle.Workerless(s.Shoot) }

// SkipReadiness reports whether the shoot's owner does not want this run to wait for what it does not need itself.
func (s *Scope) SkipReadiness() bool {
	_, asked := s.Shoot.Annotations[constants.ShootSkipReadiness]
	return asked
}

// Hibernated reports whether the shoot is to be hibernated.
func (s *Scope) Hibernated() bool { return lifecycle.Hibernated(s.Shoot) }

// MayBeAsleep reports whether a control plane that is to be taken down may have to be woken first: the shoot is to be
// hibernated, or it is and is being woken, which has not ended yet (docs/specification/migration.md#spec-2-6-wake).
func (s *Scope) MayBeAsleep() bool {
	return s.Hibernated() || s.Shoot.Status.IsHibernated
}

// Awake reports whether the control plane runs during the flow (see lifecycle.Awake).
func (s *Scope) Awake() bool { return lifecycle.Awake(s.Shoot) }

// Replicas is one for whatever runs while the shoot is awake.
func (s *Scope) Replicas() int32 {
	if !s.Awake() {
		return 0
	}
	return 1
}

// Restoring reports whether the run is a restore.
func (s *Scope) Restoring() bool {
	return s.Shoot.Status.LastOperation != nil &&
		s.Shoot.Status.LastOperation.Type == gardencorev1beta1.LastOperationTypeRestore
}

// MayRotate reports whether the run may rotate credentials. A shoot that moves keeps them.
func (s *Scope) MayRotate() bool {
	return s.Running == gardencorev1beta1.LastOperationTypeReconcile ||
		s.Running == gardencorev1beta1.LastOperationTypeCreate
}

// Restarts reports whether this run restarts what a task names. Other operations make all pods anew, or end them; of a
// shoot that sleeps there are none.
func (s *Scope) Restarts(task string) bool {
	return s.Running == gardencorev1beta1.LastOperationTypeReconcile && s.Awake() &&
		(task == constants.ShootTaskRestartControlPlanePods || task == constants.ShootTaskRestartCoreAddons) &&
		slices.Contains(lifecycle.Tasks(s.Shoot), task)
}

// Stopped reports whether operators have stopped the operations on the shoots of this seed in an emergency
// (docs/specification/api.md#spec-1-12, docs/specification/migration.md#spec-2-5). What is under way goes on.
func (s *Scope) Stopped() bool {
	return s.SeedObject.Annotations[constants.ShootEmergencyStopReconciliations] == constants.LabelTrue
}

// BackOff is how long a run waits after one that has failed, so that the failure it wrote into the status is not what
// wakes it. Who asks for a run does not wait.
func (s *Scope) BackOff() time.Duration {
	last := s.Shoot.Status.LastOperation
	if lifecycle.Requested(s.Shoot) || last == nil || last.State != gardencorev1beta1.LastOperationStateError ||
		s.Shoot.Status.ObservedGeneration != s.Shoot.Generation {
		return 0
	}
	return max(0, last.LastUpdateTime.Add(s.WaitInterval).Sub(s.Clock.Now()))
}

// Key is the key of an object in the control-plane namespace.
func (s *Scope) Key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: s.Namespace(), Name: name}
}

// Meta is the metadata of an object in the control-plane namespace.
func (s *Scope) Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.Namespace(), Name: name}
}

// ReadNamespace reads the control-plane namespace.
func (s *Scope) ReadNamespace(ctx context.Context) (*corev1.Namespace, error) {
	namespace := &corev1.Namespace{}
	err := s.Seed.Get(ctx, client.ObjectKey{Name: s.Namespace()}, namespace)
	return namespace, err
}

// registered is what the garden says of the types of Extensions. It is read once in a run: an Extension is dealt with
// at one moment, whatever becomes of its registration meanwhile. The zero value has read nothing yet.
type registered struct {
	mu     sync.Mutex
	byType map[string]gardencorev1beta1.ControllerResource
}

// Registrations are those of the controllers that decide about Extension objects, by type.
func (s *Scope) Registrations(ctx context.Context) (map[string]gardencorev1beta1.ControllerResource, error) {
	s.registered.mu.Lock()
	defer s.registered.mu.Unlock()
	if s.registered.byType != nil {
		return s.registered.byType, nil
	}
	list := &gardencorev1beta1.ControllerRegistrationList{}
	if err := s.Garden.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list the controller registrations: %w", err)
	}
	byType := map[string]gardencorev1beta1.ControllerResource{}
	for _, registration := range list.Items {
		for _, resource := range registration.Spec.Resources {
			if resource.Kind == extensionsv1alpha1.ExtensionResource && ptr.Deref(resource.Primary, true) {
				byType[resource.Type] = resource
			}
		}
	}
	s.registered.byType = byType
	return byType, nil
}
