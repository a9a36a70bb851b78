package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// needsInfrastructure are the kinds whose objects have the status of an Infrastructure.
var needsInfrastructure = []string{extensionsv1alpha1.ControlPlaneResource, extensionsv1alpha1.WorkerResource}

// infrastructureOf an extension; false if it reconciles none.
func infrastructureOf(e landscape.Extension) (subject, bool) {
	for i, r := range e.Resources {
		if r.Kind == extensionsv1alpha1.InfrastructureResource && r.IsPrimary() {
			kind, _ := extensionsv1alpha1.KindByName(r.Kind)
			return subject{i, r, kind}, true
		}
	}
	return subject{}, false
}

// newBase is the Infrastructure that an object needs, in the same namespace; nil if it needs none, or if the extension
// has none.
func (u *universe) newBase() *universe {
	infrastructure, has := infrastructureOf(u.extension())
	if !has || !slices.Contains(needsInfrastructure, u.kind.Name) {
		return nil
	}
	base := u.newUniverse(infrastructure, u.walk.Name)
	base.shoot, base.namespace, base.noSeed, base.isBase = u.shoot, u.namespace, u.noSeed, true
	base.walk.Name, base.walk.Namespace = "base", u.namespace
	return base
}

// arriveBase brings what the object needs to the seed, before the object itself. Without an answer the walk has ended.
func (u *universe) arriveBase(ctx context.Context, at *side) error {
	if u.base == nil {
		if u.base = u.newBase(); u.base == nil {
			return nil
		}
	}
	steps := []string{contract.Create}
	if u.base.at == nil {
		u.base.at = at
	} else {
		steps = []string{contract.Migrate, contract.DeleteSource, contract.WaitForState, contract.Restore}
	}
	last := &contract.Step{} // of the object
	if n := len(u.walk.Steps); n > 0 {
		last = u.walk.Steps[n-1]
	}
	if err := u.late(ctx, last); err != nil {
		return err
	}
	done, err := u.base.follow(ctx, steps)
	if err != nil {
		return err
	}
	if !done {
		u.walk.Ended = "its Infrastructure: " + u.base.walk.Ended
	}
	// What was done meanwhile was done for it. Its move changes nothing in the cloud: what does may be the object's.
	meanwhile := &contract.Step{}
	if err := u.late(ctx, meanwhile); err != nil {
		return err
	}
	last.Unscoped += meanwhile.Unscoped + len(meanwhile.Calls)
	u.beside, err = itemsIn(ctx, at.config, u.namespace, u.own())
	return err
}

// late adds to a step what was seen since the last, on both seeds.
func (u *universe) late(ctx context.Context, s *contract.Step) error {
	for _, one := range u.sides {
		u.note(one, s)
	}
	return u.account(ctx, s)
}

// infrastructureStatus is the providerStatus of what the object needs; nil for none.
func (u *universe) infrastructureStatus() (*runtime.RawExtension, error) {
	if u.base == nil || u.base.at == nil {
		return nil, nil
	}
	var results struct {
		ProviderStatus json.RawMessage `json:"providerStatus"`
	}
	if is := u.base.look(u.base.at); !is.Gone {
		if err := json.Unmarshal(is.Results, &results); err != nil {
			return nil, fmt.Errorf("read the status of the Infrastructure: %w", err)
		}
	}
	if results.ProviderStatus == nil {
		return nil, nil
	}
	return &runtime.RawExtension{Raw: results.ProviderStatus}, nil
}

const (
	userDataName, userDataKey = "contract-kit-user-data", "cloud_config"
	agentKey                  = "gardener-node-agent-contract-kit"
)

// besides are the objects that a gardenlet has in the namespace when it asks for one of the kind.
func (u *universe) besides() []client.Object {
	if u.kind.Name != extensionsv1alpha1.WorkerResource {
		return nil
	}
	replicas := int32(1)
	if u.epoch > 1 { // that of a restore is started by the extension
		replicas = 0
	}
	return []client.Object{machineController(u.namespace, replicas),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: u.namespace, Name: userDataName},
			StringData: map[string]string{userDataKey: "#!/bin/true"}}}
}

// leave the source, after the extension has released the object: what a gardenlet takes along, and what it removes.
func (u taking) leave(ctx context.Context) error {
	if u.kind.Name != extensionsv1alpha1.WorkerResource {
		return nil
	}
	source := u.source()
	machines, err := shootstate.CollectMachines(ctx, source.client, u.namespace)
	if err != nil {
		return fmt.Errorf("save the machines of %s: %w", u.namespace, err)
	}
	u.machineState = machines
	return removeMachines(ctx, source.client, u.namespace)
}

// restored takes the saved machines off a Worker that is restored, as a gardenlet does
// (docs/specification/extensions.md#spec-3-7).
func (u taking) restored(ctx context.Context) error {
	if u.machineState == nil || u.at == u.source() {
		return nil
	}
	return u.setStatus(ctx, u.at, map[string]any{"state": nil})
}

// objectName of the object under test: in each namespace the same, and its own for what is in none.
func (u *universe) objectName() string {
	switch u.kind.Name {
	case extensionsv1alpha1.BackupBucketResource:
		return u.shoot
	case extensionsv1alpha1.BackupEntryResource:
		return u.namespace + "--contract"
	}
	return "contract"
}

// clusterName is the name of an object that is in no namespace; empty for others.
func (u *universe) clusterName() string {
	if u.kind.Namespaced {
		return ""
	}
	return u.objectName()
}

// backupBucket of a seed, for entries; the kit makes it.
func (at *side) backupBucket() string { return at.name + "-backups" }

// grantBucket lets the extension of a seed make, change and remove a bucket, as a garden does.
func (k *kit) grantBucket(ctx context.Context, at *side, bucket string) error {
	policy := cloud.Policy{Meta: cloud.Meta{ID: cloud.BucketPolicy(bucket)}, Bound: at.name}
	if _, err := k.admin.SetPolicy(ctx, policy); err != nil {
		return fmt.Errorf("grant the bucket %q to %s: %w", bucket, at.name, err)
	}
	return nil
}

func (k *kit) makeBackupBuckets(ctx context.Context) error {
	for _, at := range k.sides {
		if err := k.grantBucket(ctx, at, at.backupBucket()); err != nil {
			return err
		}
		_, err := k.admin.Buckets().Create(ctx, &cloud.Bucket{Name: at.backupBucket()})
		if err != nil && !cloud.IsAlreadyExists(err) {
			return fmt.Errorf("make the bucket of %s: %w", at.name, err)
		}
	}
	return nil
}
