// Package controlplane holds the tasks of a shoot's control plane: its namespace, secrets, etcd, API server,
// extension objects, and the graph that orders them (docs/specification/migration.md#spec-2-9). The duties shoot and
// migration compose these tasks into their flows.
//
// It decides nothing about when a flow runs, and it keeps no state between runs but how far a
// take-over has come: whatever else a run needs it reads again.
package controlplane

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

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
	// GatewayPort is the port of the shoot's API server as clients outside see it.
	GatewayPort int32
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

// Operation is one run of a flow for one shoot on one seed. It is made anew for every run.
type Operation struct {
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
	Owners Authorities
	Bucket Buckets
	States States

	Shoot *gardencorev1beta1.Shoot
	// SeedObject is the Seed that this gardenlet serves.
	SeedObject *gardencorev1beta1.Seed
	// State is set while restoring: what the ShootState says, expanded (docs/specification/state-size.md#spec-9-5).
	State *shootstate.State
	// Epoch is the ownership epoch this run acts in; set by HoldOwnership.
	Epoch    int64
	takeover *ownership.Takeover
	// registered types of Extensions.
	registered registered
	// events of the shoot; set by Run.
	events Events
	// running is the operation that this run has begun.
	running gardencorev1beta1.LastOperationType
}

// Namespace is the name of the control-plane namespace in the seed, the technical id.
func (o *Operation) Namespace() string { return o.Shoot.Status.TechnicalID }

// Workerless reports whether the shoot has no workers, and so no infrastructure.
func (o *Operation) Workerless() bool { return len(o.Shoot.Spec.Provider.Workers) == 0 }

// SkipReadiness reports whether the shoot's owner does not want this run to wait for what it does not need itself.
func (o *Operation) SkipReadiness() bool {
	_, asked := o.Shoot.Annotations[constants.ShootSkipReadiness]
	return asked
}

// Hibernated reports whether the shoot is to be hibernated.
func (o *Operation) Hibernated() bool {
	return o.Shoot.Spec.Hibernation != nil && o.Shoot.Spec.Hibernation.Enabled != nil && *o.Shoot.Spec.Hibernation.Enabled
}

// MayBeAsleep reports whether a control plane that is to be taken down may have to be woken first: the shoot is to be
// hibernated, or it is and is being woken, which has not ended yet (docs/specification/migration.md#spec-2-6-wake).
func (o *Operation) MayBeAsleep() bool {
	return o.Hibernated() || o.Shoot.Status.IsHibernated
}

// Awake reports whether the control plane runs during the flow. A shoot that is to be hibernated and is not asleep yet
// is put to sleep at the end; one that sleeps is not woken, not even on another seed.
func (o *Operation) Awake() bool {
	return !o.Hibernated() || !o.Shoot.Status.IsHibernated
}

// Restoring reports whether the run is a restore.
func (o *Operation) Restoring() bool {
	return o.Shoot.Status.LastOperation != nil &&
		o.Shoot.Status.LastOperation.Type == gardencorev1beta1.LastOperationTypeRestore
}

// project is the part of the technical id between the dashes: shoot--<project>--<shoot>.
func (o *Operation) project() string {
	prefix, suffix := len("shoot--"), len("--"+o.Shoot.Name)
	id := o.Namespace()
	if len(id) <= prefix+suffix {
		return o.Shoot.Namespace
	}
	return id[prefix : len(id)-suffix]
}

// APIServerHost is the internal name of the shoot's API server, which is public too: the landscape itself goes by it.
func (o *Operation) APIServerHost() string {
	return fmt.Sprintf("api.%s.%s.%s", o.Shoot.Name, o.project(), o.InternalDomain)
}

// APIServerURL is the address by which clients outside the seed reach the shoot's API server, by its internal name.
func (o *Operation) APIServerURL() string { return o.urlOf(o.APIServerHost()) }

func (o *Operation) urlOf(host string) string {
	return fmt.Sprintf("https://%s:%d", host, o.GatewayPort)
}

// BackupEntryName is the name of the shoot's BackupEntry (docs/specification/api.md#spec-1-7).
func (o *Operation) BackupEntryName() string {
	return fmt.Sprintf("%s--%s", o.Namespace(), o.Shoot.Status.UID)
}

// BackupEntriesOf are the names of a shoot's BackupEntry and of the one that leads to where it comes from; none as long
// as the shoot has no identity.
func BackupEntriesOf(shoot *gardencorev1beta1.Shoot) []string {
	if shoot.Status.TechnicalID == "" || shoot.Status.UID == "" {
		return nil
	}
	name := (&Operation{Shoot: shoot}).BackupEntryName()
	return []string{name, sourcePrefix + name}
}

// key is the key of an object in the control-plane namespace.
func (o *Operation) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: o.Namespace(), Name: name}
}

// namespace reads the control-plane namespace.
func (o *Operation) namespace(ctx context.Context) (*corev1.Namespace, error) {
	namespace := &corev1.Namespace{}
	err := o.Seed.Get(ctx, client.ObjectKey{Name: o.Namespace()}, namespace)
	return namespace, err
}
