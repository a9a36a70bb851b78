package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	gardenlet "github.com/transplant-sim/transplant/controllers/controlplane/contract"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// universe is a namespace with one extension object, on both seeds one after the other: a shoot that has nothing else.
type universe struct {
	*kit
	subject
	shoot, namespace string
	at               *side // where the object is now; nil before the first step
	made             bool  // the object was created there
	walk             *contract.Walk
	epoch            int64
	seen             int64                     // entries of the ledger that are in earlier steps
	written          map[string]int            // of a seed, that are in earlier steps
	last             map[string]*contract.Step // on a seed
	secrets          []corev1.Secret           // that move with the shoot, as they were after the last reconcile
	lists            bool                      // what is in the namespace is of interest
	compared         []string                  // steps, with crashes
	handed           json.RawMessage           // the state that was taken along
	foreign          bool                      // the object is of a type that is nobody's
	noSeed           bool                      // the Cluster has no seed
	isBase           bool                      // it is what another object needs, in that one's namespace
	base             *universe                 // what the object needs; nil for nothing
	beside           []contract.Item           // what the extension had in the namespace before the object
	machineState     *runtime.RawExtension     // that moves with a Worker
}

// newWalk is the universe of a walk. Its shoot has another name if the walk is tried several times.
func (k *kit) newWalk(s subject, walk, name string) *universe {
	u := k.newUniverse(s, name)
	u.walk.Name = walk
	u.lists = walk == contract.Clean || walk == contract.Short
	u.foreign, u.noSeed = walk == contract.Foreign, walk == contract.NoSeed
	return u
}

// subject is what is tried: a kind of the extension.
type subject struct {
	index    int // in the file
	resource landscape.ExtensionResource
	kind     extensionsv1alpha1.Kind
}

func (k *kit) newUniverse(s subject, name string) *universe {
	u := &universe{kit: k, subject: s, shoot: fmt.Sprintf("%s%d-%s", strings.ToLower(s.kind.Name), s.index, name),
		written: map[string]int{}, last: map[string]*contract.Step{}}
	u.namespace = environment.TechnicalID(u.shoot)
	u.walk = &contract.Walk{Name: name, Namespace: u.namespace}
	return u
}

func (u *universe) key() client.ObjectKey { return client.ObjectKeyFromObject(u.empty()) }

// own is the resource of the object, with its group.
func (u *universe) own() string { return u.kind.Resource + "." + extensionsv1alpha1.GroupName }

// arrive makes the shoot the seed's: the owner record, the namespace, its Secrets and the Cluster.
func (u *universe) arrive(ctx context.Context, at *side) error {
	if u.isBase {
		return nil
	}
	u.epoch++
	at.tap.Watch(u.namespace, u.kind.Resource, u.clusterName())
	if u.kind.Name == extensionsv1alpha1.BackupBucketResource {
		u.buckets.Store(u.objectName(), true)
		if err := u.grantBucket(ctx, at, u.objectName()); err != nil {
			return err
		}
	}
	record := fmt.Sprintf("owner.%s.%s.%s", u.shoot, environment.Project, environment.Domain)
	if _, err := u.admin.Records(u.zone).Put(ctx, &cloud.RecordSet{Name: record, Type: cloud.RecordTXT, TTL: 1,
		Values: []string{fmt.Sprintf("owner=%s epoch=%d seed=%s", at.name, u.epoch, at.name)},
	}, cloud.If{}); err != nil {
		return fmt.Errorf("write the owner record of %q: %w", u.shoot, err)
	}
	cluster, err := u.cluster(at, gardencorev1beta1.LastOperationStateProcessing)
	if err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: u.namespace,
		Labels:      map[string]string{constants.LabelRole: "shoot"},
		Annotations: map[string]string{constants.OwnershipOwner: at.name, constants.OwnershipRecord: record}}}
	tenure.Tenure{}.Advance(namespace, tenure.Claimed, u.epoch)
	for _, object := range append([]client.Object{
		namespace, cluster,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: u.namespace, Name: gardenlet.SecretCloudProvider},
			StringData: map[string]string{"contract": "kit"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: u.namespace, Name: "ca-contract-kit",
			Labels: map[string]string{constants.Persist: constants.LabelTrue}}, StringData: map[string]string{"ca": "kit"}},
	}, u.besides()...) {
		if err := at.client.Create(ctx, object, fieldOwner); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("create %T %q on %s: %w", object, object.GetName(), at.name, err)
		}
	}
	return nil
}

// cluster of the shoot, whose last operation stands there.
func (u *universe) cluster(at *side, state gardencorev1beta1.LastOperationState) (*extensionsv1alpha1.Cluster, error) {
	shoot, err := u.environment.ShootManifest(landscape.Shoot{Name: u.shoot, Seed: at.name, Workers: 1})
	if err != nil {
		return nil, err
	}
	shoot.Status.TechnicalID = u.namespace
	shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: gardencorev1beta1.LastOperationTypeReconcile,
		State: state, LastUpdateTime: metav1.Now(), Description: "contract kit"}
	shoot.Spec.Networking.Pods, shoot.Spec.Networking.Services = new(podCIDR), new(serviceCIDR)
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: u.namespace}}
	for _, one := range []struct {
		kind   string
		object any
		into   *runtime.RawExtension
	}{
		{"Shoot", shoot, &cluster.Spec.Shoot}, {"Seed", seedManifest(at.name), &cluster.Spec.Seed},
		{"CloudProfile", cloudProfileManifest(), &cluster.Spec.CloudProfile},
	} {
		content, err := json.Marshal(one.object)
		if err != nil {
			return nil, fmt.Errorf("encode the %s: %w", one.kind, err)
		}
		if one.kind != "Shoot" {
			if content, err = landscape.Overlay(one.kind, content, u.environment.Extensions); err != nil {
				return nil, err
			}
		}
		if content, err = withKind(one.kind, content); err != nil {
			return nil, err
		}
		one.into.Raw = content
	}
	if u.noSeed {
		cluster.Spec.Seed = runtime.RawExtension{}
	}
	return cluster, nil
}

// request is a change of the object; it returns the version from which on an answer counts.
type request func(ctx context.Context, at *side) (from int64, err error)

// answer is nil if the extension has answered.
type answer func(version) error

// step asks for something, waits for the answer, and keeps all that happened. Without an answer to wait for it lets
// some time pass. The error is of the kit itself.
func (u *universe) step(ctx context.Context, at *side, name string, ask request, answered answer,
	wait time.Duration) (*contract.Step, error) {
	s := &contract.Step{Name: name, Before: u.look(at)}
	if name == contract.Restore && at != u.source() {
		s.Handed = u.handed
	}
	if err := passSecond(ctx, s.Before.LastUpdated); err != nil {
		return nil, err
	}
	s.Before = u.look(at)
	_, cloudBefore := at.tap.Since(u.namespace, 0)
	// What came late belongs to what was asked before; calls before the first step to none.
	before := &contract.Step{}
	if n := len(u.walk.Steps); n > 0 {
		before = u.walk.Steps[n-1]
	}
	if err := u.account(ctx, before); err != nil {
		return nil, fmt.Errorf("before %s of %s: %w", name, u.namespace, err)
	}
	if last := u.last[at.name]; last != nil {
		u.note(at, last)
	}
	began := time.Now()
	from, err := ask(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", name, u.namespace, err)
	}
	pause := u.quiet
	if answered != nil {
		if _, err := at.objects[u.kind.Name].await(ctx, u.key(), from, wait, answered); err != nil {
			s.Missing = err.Error()
		}
		pause = u.settles
	}
	s.Took = time.Since(began)
	if err := sleep(ctx, pause); err != nil {
		return nil, err
	}
	for _, o := range append([]*observer{at.objects[u.kind.Name], at.managed}, at.machines...) {
		if err := o.works(ctx, watchAgain); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", name, u.namespace, err)
		}
	}
	s.After = u.look(at)
	if err := u.collect(ctx, at, s); err != nil {
		return nil, fmt.Errorf("%s of %s: %w", name, u.namespace, err)
	}
	s.CloudRequests -= cloudBefore
	u.walk.Steps, u.last[at.name] = append(u.walk.Steps, s), s
	return s, listing{u}.settle(ctx, at, s)
}

// settle looks at what crashes are compared with when as much time has passed as after a crash.
func (u listing) settle(ctx context.Context, at *side, s *contract.Step) error {
	if s.Missing != "" || !slices.Contains(u.compared, s.Name) {
		return nil
	}
	if err := sleep(ctx, u.quiet); err != nil {
		return err
	}
	u.note(at, s)
	if err := u.account(ctx, s); err != nil {
		return fmt.Errorf("after %s of %s: %w", s.Name, u.namespace, err)
	}
	s.Settled = &contract.Step{Name: s.Name, After: u.look(at), MachinesSeen: s.MachinesSeen}
	if !u.lists {
		return nil
	}
	return u.inventory(ctx, at, s.Settled)
}

// passSecond waits until the time is in a later second than the last answer: answers have whole seconds, and one to the
// request before would count for the next (docs/specification/extensions.md#spec-3-5).
func passSecond(ctx context.Context, answered string) error {
	last, err := time.Parse(time.RFC3339, answered)
	if err != nil {
		return nil //nolint:nilerr // there was no answer yet
	}
	return sleep(ctx, time.Until(last.Add(time.Second)))
}

// note adds to a step what was written on its seed since the last time.
func (u *universe) note(at *side, s *contract.Step) {
	writes, _ := at.tap.Since(u.namespace, u.written[at.name])
	s.Writes = append(s.Writes, writes...)
	u.written[at.name] += len(writes)
}

// collect what has been seen since the step before, and what is there now.
func (u *universe) collect(ctx context.Context, at *side, s *contract.Step) error {
	u.note(at, s)
	if err := u.account(ctx, s); err != nil {
		return err
	}
	_, s.CloudRequests = at.tap.Since(u.namespace, 0)
	var err error
	if err := (listing{u}).inventory(ctx, at, s); err != nil {
		return err
	}
	if s.Name == contract.Create || s.Name == contract.Reconcile {
		if err := (taking{u}).save(ctx, at, s.After); err != nil {
			return err
		}
	}
	if s.Persisted, err = persistedIn(ctx, at.client, u.namespace); err != nil {
		return err
	}
	s.Managed = managedIn(at.managed, u.namespace)
	return nil
}

// inventory of the namespace, as far as somebody compares it.
func (u listing) inventory(ctx context.Context, at *side, s *contract.Step) (err error) {
	if u.lists && slices.Contains(listed, s.Name) {
		if err := u.list(ctx, at, s); err != nil {
			return err
		}
	}
	if u.kind.Name == extensionsv1alpha1.WorkerResource && at != u.source() {
		s.MachinesSeen, err = machinesSeen(at.machine, u.namespace)
	}
	return err
}

// listing is about what is in the namespace.
type listing struct{ *universe }

// list what the extension has in the namespace for the object.
func (u listing) list(ctx context.Context, at *side, s *contract.Step) error {
	items, err := itemsIn(ctx, at.config, u.namespace, u.own())
	if err != nil {
		return err
	}
	isMachine := func(contract.Item) bool { return false }
	if u.kind.Name == extensionsv1alpha1.WorkerResource {
		if isMachine, err = u.machineItems(ctx, at); err != nil {
			return err
		}
		if s.Machines, err = u.machinesNow(ctx, at); err != nil {
			return err
		}
	}
	s.Items = slices.DeleteFunc(items, func(item contract.Item) bool {
		return slices.Contains(u.beside, item) || isMachine(item) || u.isBackupSecret(item)
	})
	return nil
}

// isBackupSecret says that an item has the credentials of backups. They stay until etcd has written its last
// (docs/specification/migration.md#spec-2-7).
func (u listing) isBackupSecret(item contract.Item) bool {
	return u.kind.Name == extensionsv1alpha1.BackupEntryResource && item.Resource == "secrets" &&
		slices.Contains([]string{constants.SecretNameEtcdBackup, constants.SecretNameSourceEtcdBackup}, item.Name)
}

// account adds the calls of the cloud since the last time to a step.
func (u *universe) account(ctx context.Context, s *contract.Step) error {
	entries, err := u.observer.entries(ctx, u.seen)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		u.seen = entry.Seq
		ours := slices.ContainsFunc(u.sides, func(one *side) bool { return one.actor == entry.Identity })
		call := contract.Call{Identity: entry.Identity, Verb: entry.Verb, Kind: entry.Kind, ID: entry.ID,
			Before: entry.Before != "", After: entry.After != ""}
		if !entry.Took() && entry.Outcome != cloud.OutcomeReplayed {
			call.Refused = entry.Outcome
		}
		switch {
		case !ours, call.Refused == string(cloud.CodeStaleEpoch), call.Refused == "" && entry.Before == entry.After:
		case u.isFor(entry) && call.Refused != "":
			s.Refused = append(s.Refused, call)
		case u.isFor(entry):
			s.Calls = append(s.Calls, call)
		case entry.Shoot == "" && !u.isOthersBucket(entry):
			s.Unscoped++
		}
	}
	return nil
}

// isFor says that a call was for the object. A bucket is no shoot's.
func (u *universe) isFor(entry cloud.LedgerEntry) bool {
	return entry.Shoot == u.namespace ||
		entry.Shoot == "" && entry.Kind == cloud.KindBuckets && entry.ID == u.objectName()
}

// isOthersBucket says that a call was for the bucket of another object.
func (k *kit) isOthersBucket(entry cloud.LedgerEntry) bool {
	_, known := k.buckets.Load(entry.ID)
	return entry.Kind == cloud.KindBuckets && known
}

// listed are the steps after which the namespace is listed: judges compare them.
var listed = []string{contract.Create, contract.Reconcile, contract.Migrate, contract.MigrateAgain, contract.Restore,
	contract.RestoreAgain, contract.Delete}

func (u *universe) look(at *side) contract.Snapshot {
	latest, _ := at.objects[u.kind.Name].see(u.key())
	if latest.object == nil || latest.gone {
		return contract.Snapshot{Gone: true}
	}
	return contract.Look(latest.object.Object)
}
