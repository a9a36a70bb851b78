// Package world is the landscape as a scenario uses it: the interfaces that steps, faults and probes call, and the
// snapshot that expressions ask.
//
// It says what is needed, not how it is made: a backend implements World. It judges nothing.
package world

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Who reaches a shoot.
const (
	// Observer connects directly, over links that are never faulted.
	Observer = clusters.Observer
	// User takes the shoot's public name, the cloud's DNS and the seed's gateway, over link(user, shoots).
	User = "user"
	// Operator carries out the steps of a scenario; the name stands on the timeline.
	Operator = "operator"
)

// World is a running landscape. It is used by many goroutines.
type World interface {
	Shoots
	// Seeds are the names of the seeds, in the order of the scenario.
	Seeds() []string
	// Connect gives the observer's access to a cluster: landscape.Garden, or a seed.
	Connect(cluster string) (*rest.Config, error)
	// Cloud gives the observer's access to the cloud.
	Cloud() *cloud.Client
	// Stop ends the landscape and everything in it.
	Stop(ctx context.Context) error
}

// Shoots is what a backend knows about shoots.
type Shoots interface {
	// ShootKey is namespace and name of the Shoot in the garden.
	ShootKey(shoot string) types.NamespacedName
	// ShootManifest is the Shoot to create for what a scenario describes; nothing of it exists yet.
	ShootManifest(shoot landscape.Shoot) (*gardencorev1beta1.Shoot, error)
	// ConnectShoot gives an actor's access to the shoot's API server: the User's by its public name, through its
	// link; the Observer's directly to the control plane that the Shoot's status points to.
	ConnectShoot(ctx context.Context, shoot, actor string) (*rest.Config, error)
	// PinShoot gives the User's access to the shoot's API server at the address that its public name has now, past its
	// link. The access stays there, whatever DNS says later.
	PinShoot(ctx context.Context, shoot string) (*rest.Config, error)
	// ControlPlanes finds every control plane of the shoot, on whatever seed it is, also where it does not belong.
	// Seeds that cannot be read are an error beside the control planes that were found.
	ControlPlanes(ctx context.Context, shoot string) ([]ControlPlane, error)
}

// NoAPIServer says that no API server runs for a shoot on the seed that its status points to.
type NoAPIServer struct{ Shoot, Seed string }

func (n NoAPIServer) Error() string {
	return fmt.Sprintf("shoot %q has no API server on seed %q", n.Shoot, n.Seed)
}

// ControlPlane is one control plane of a shoot on one seed.
type ControlPlane struct {
	Seed string
	// API is the observer's direct access to its API server; nil when it has none that runs.
	API *rest.Config
	// ShootUID is that of the Shoot whose published access API uses, which may be an earlier one of this name; empty
	// when it is not known.
	ShootUID types.UID
	// Validity asks its guard, as docs/ownership.md#spec-9-2 describes for holders, without becoming one.
	Validity func(ctx context.Context) (Validity, error)
}

// Validity is what a guard says about itself.
type Validity struct {
	State     string
	Owner     string
	Epoch     int64
	Remaining time.Duration
}

// Serving says whether the guard lets anything pass.
func (v Validity) Serving() bool { return v.Remaining > 0 }

// Injection is a fault at work.
//
// Whoever breaks something gives its Injection from when anything may have begun, also together with an error: an
// Injection that comes with an error is healed, too, and at once. Its Heal takes back what was begun, as far as that
// went. Where nothing has begun the Injection is empty.
type Injection struct {
	// Heal ends it; the engine calls it exactly once.
	Heal func(ctx context.Context) error
	// Hits counts how often it hit something; it keeps its value after the heal.
	Hits func() int
}

// HealTimeout bounds one heal, and is longer than any backend waits for a cluster that returns with its disk, which
// says better what was missing. Heals run even if the run was cancelled.
const HealTimeout = 6 * time.Minute

// LinkBreaker is a World with links that can be harmed. Actors and targets are those of the landscape. The hook, when
// it is not nil, is called with every request that the fault hits; the heal waits for it to return.
type LinkBreaker interface {
	BreakLink(ctx context.Context, actor, target string, fault link.Fault, hook requests.Hook) (Injection, error)
}

// ProcessBreaker is a World with processes that can be harmed.
type ProcessBreaker interface {
	// AwaitProcess waits until the process runs: it may just be starting, for the first time or after a crash.
	AwaitProcess(ctx context.Context, process Process) error
	BreakProcess(ctx context.Context, process Process, harm Harm) (Injection, error)
}

// RestartDelayer is a World in which a killed process can be kept from coming back.
type RestartDelayer interface {
	// KillFor kills, and lets nothing of what is started again do anything for a while, or until the heal.
	KillFor(ctx context.Context, process Process, delay time.Duration) (Injection, error)
}

// DiskWiper is a World in which the disk of a shoot's etcd can be replaced by an empty one.
type DiskWiper interface {
	WipeEtcd(ctx context.Context, shoot string) (Injection, error)
}

// ClusterBreaker is a World whose clusters can be harmed as a whole: API server, etcd, node and all pods on it.
type ClusterBreaker interface {
	// LoseCluster kills everything at once. The heal brings the cluster back: on the data it had, or, with wipe, as
	// one that was built anew under the same name.
	LoseCluster(ctx context.Context, cluster string, wipe bool) (Injection, error)
	// FreezeCluster holds everything with SIGSTOP; the heal lets it go on where it was.
	FreezeCluster(ctx context.Context, cluster string) (Injection, error)
}

// PodBreaker is a World in which containers of pods can be harmed.
type PodBreaker interface {
	// BreakPods kills the containers of these names, all without names. Kept down, they do nothing before the heal,
	// although they are started again.
	BreakPods(ctx context.Context, cluster string, pods []types.UID, containers []string, keepDown bool) (Injection, error)
}

// PodActors is a World that knows which actors its pods are.
type PodActors interface {
	// Parts says which actors the pods of a cluster are, and which targets of links they serve.
	Parts(ctx context.Context, cluster string, pods []corev1.Pod) (actors, targets []string, err error)
}

// PodDialer is a World that can knock at an address from within the network of a pod.
type PodDialer interface {
	// DialFromPod connects over TCP, and says how long it took until somebody answered: a refusal is an answer, too. It
	// is ErrNoAnswer when nobody did within a time that is long for a healthy network; any other error is about the pod.
	DialFromPod(ctx context.Context, cluster string, pod types.UID, address string) (time.Duration, error)
}

// ErrNoAnswer is what somebody hears who knocks at an address that nothing comes back from.
var ErrNoAnswer = errors.New("nobody answers")

// CloudBreaker is a World whose cloud can be harmed. The shoots that the fault matches are named as in the
// scenario, and it needs no id.
type CloudBreaker interface {
	BreakCloud(ctx context.Context, fault cloud.Fault) (Injection, error)
}

// BackupBreaker is a World in which a shoot's backups can be harmed.
type BackupBreaker interface {
	// DamageBackup harms the last backup that there is now, in every bucket that has it, for whoever reads it.
	DamageBackup(ctx context.Context, shoot string, last Backup, missing bool) (Injection, error)
}

// BackupReader is a World that knows how far a shoot's backups reach.
type BackupReader interface {
	// BackedUpTo is the newest revision of the shoot's store that a backup contains, 0 when there is none.
	BackedUpTo(ctx context.Context, shoot string) (revision int64, err error)
}

// Inventory is a World that knows what is there beside the objects of API servers: processes, data folders, buckets
// and their objects, DNS records. The keys are seeds, or other places such as "cloud".
type Inventory interface {
	Items(ctx context.Context) (map[string][]timeline.Item, error)
	// Certain are the classes, of objects too, of which a control plane that runs on a seed has something there, and its
	// shoot in the cloud: an inventory that shows none is not whole.
	Certain() (onSeed, inCloud []string)
}

// Readiness is a World that knows whether its actors, extensions among them, are ready.
type Readiness interface {
	// Ready is an error that names the first that is not.
	Ready(ctx context.Context) error
}

// Refresher is a World whose actors keep traces of earlier runs.
type Refresher interface {
	// Refresh replaces the actors that have died since they were made: the restart back-off of one run must not delay
	// them in the next. It ends the faults of the cloud that the run has left.
	Refresh(ctx context.Context) error
}

// Meter is a World that knows what it has cost.
type Meter interface {
	Cost(ctx context.Context) (timeline.CostSeen, error)
}

// Process names processes: an actor, a program of a cluster, or a program of a shoot's control plane on one seed.
type Process struct {
	Actor   string
	Cluster string
	Shoot   string
	Program string
}

// Harm is what can be done to a process.
type Harm string

// Harms.
const (
	// Kill ends it with SIGKILL. Whoever supervises it starts it again; the heal waits until it runs.
	Kill Harm = "kill"
	// Freeze holds it with SIGSTOP until the heal.
	Freeze Harm = "freeze"
)

// Backup is a kind of backups.
type Backup string

// Kinds of backups.
const (
	AnyBackup   Backup = "Any"
	FullBackup  Backup = "Full"
	DeltaBackup Backup = "Delta"
)

// Backups are all kinds.
func Backups() []Backup { return []Backup{AnyBackup, FullBackup, DeltaBackup} }

// Ability is something that not every backend can do.
type Ability string

// Abilities.
const (
	BreakLinks     Ability = "break links"
	BreakProcesses Ability = "break processes"
	BreakPrograms  Ability = "break the programs of clusters"
	DelayRestarts  Ability = "delay restarts"
	WipeDisks      Ability = "wipe disks"
	EditObjects    Ability = "edit objects"
	BreakClusters  Ability = "break clusters"
	BreakPods      Ability = "break pods"
	BreakPodLinks  Ability = "break the links of pods"
	BreakCloud     Ability = "break the cloud"
	DamageBackups  Ability = "damage backups"
	CrashActors    Ability = "crash actors at their writes" // break links and processes
	RunChaosMesh   Ability = "do what only Chaos Mesh can"
)

// For is the ability with what it is needed for.
func (a Ability) For(what string) Ability { return a + ": " + Ability(what) }

// General is the ability without what it is needed for.
func (a Ability) General() Ability {
	general, _, _ := strings.Cut(string(a), ": ")
	return Ability(general)
}

// Cannot says that the backend lacks an ability that a fault needs; it is the backstop of what is refused before the
// run.
func Cannot(fault string, ability Ability) error {
	return fmt.Errorf("%s: this backend cannot %s", fault, ability)
}
