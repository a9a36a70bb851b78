package world

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/requests"
)

// Breaker does harm to a landscape, as far as its backend is able to.
type Breaker interface {
	// Able says why the backend cannot do something, or nil: the backstop of what is refused before the run.
	Able(ability Ability) error
	LinkBreaker
	ProcessBreaker
	ClusterBreaker
	PodBreaker
	BackupBreaker
	CloudBreaker
}

// LinkBreaker harms links. Actors and targets are those of the landscape. The hook, when it is not nil, is called with
// every request that the fault hits; the heal waits for it to return.
type LinkBreaker interface {
	BreakLink(ctx context.Context, actor, target string, fault link.Fault, hook requests.Hook) (Injection, error)
}

// ProcessBreaker harms processes.
type ProcessBreaker interface {
	// AwaitProcess waits until the process runs: it may just be starting, for the first time or after a crash.
	AwaitProcess(ctx context.Context, process Process) error
	BreakProcess(ctx context.Context, process Process, harm Harm) (Injection, error)
	// KillFor kills, and lets nothing of what is started again do anything for a while, or until the heal.
	KillFor(ctx context.Context, process Process, delay time.Duration) (Injection, error)
}

// ClusterBreaker harms clusters as a whole: API server, etcd, node and all pods on it.
type ClusterBreaker interface {
	// LoseCluster kills everything at once. The heal brings the cluster back: on the data it had, or, with wipe, as
	// one that was built anew under the same name.
	LoseCluster(ctx context.Context, cluster string, wipe bool) (Injection, error)
	// FreezeCluster holds everything with SIGSTOP; the heal lets it go on where it was.
	FreezeCluster(ctx context.Context, cluster string) (Injection, error)
}

// Hosting is a World in which seeds can be shoots.
type Hosting interface {
	// OwnsAPIServer says whether the API server belongs to the cluster, and is harmed with it. That of a seed that is a
	// shoot belongs to the seed that hosts it.
	OwnsAPIServer(cluster string) bool
}

// PodBreaker harms pods, and sees what becomes of them.
type PodBreaker interface {
	// BreakPods kills the containers of these names, all without names. Kept down, they do nothing before the heal,
	// although they are started again.
	BreakPods(ctx context.Context, cluster string, pods []types.UID, containers []string, keepDown bool) (Injection, error)
	// Parts says what links know of the pods of a cluster.
	Parts(ctx context.Context, cluster string, pods []corev1.Pod) (Parts, error)
	// DialFromPod connects over TCP from within the network of a pod, and says how long it took until somebody answered: a
	// refusal is an answer, too. It is ErrNoAnswer when nobody did within a time that is long for a healthy network; any
	// other error is about the pod.
	DialFromPod(ctx context.Context, cluster string, pod types.UID, address string) (time.Duration, error)
}

// Parts are what links know of some pods.
type Parts struct {
	// Actors that the pods are, and Targets that they serve.
	Actors, Targets []string
	// Others are the pods, as namespace/name, that are not among them and share the links of an actor with them.
	Others map[string][]string
	// All are the actors of the landscape: whoever may reach the targets.
	All []string
}

// ErrNoAnswer says that nothing came back from an address.
var ErrNoAnswer = errors.New("nobody answers")

// BackupBreaker harms the data of shoots.
type BackupBreaker interface {
	// WipeEtcd replaces the disk of a shoot's etcd by an empty one.
	WipeEtcd(ctx context.Context, shoot string) (Injection, error)
	// DamageBackup harms the last backup that there is now, in every bucket that has it, for whoever reads it.
	DamageBackup(ctx context.Context, shoot string, last Backup, missing bool) (Injection, error)
}

// CloudBreaker harms the cloud. The shoots that the fault matches are named as in the scenario, and it needs no id.
type CloudBreaker interface {
	BreakCloud(ctx context.Context, fault cloud.Fault) (Injection, error)
}

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
