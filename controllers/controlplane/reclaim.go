package controlplane

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/flow"
)

// NothingToRestore reports whether the deletion of a shoot has come so far that no machine and no control plane is
// left. The DeleteGraph notes that in the state before it confirms and begins the deletion of the backups, and the
// state goes last; the ReconcileGraph makes room for backups before there is a machine. What somebody else has deleted,
// a cascade or a person, says nothing: backups that are gone while a state is there that nobody has noted it in are a
// loss, and machines may run. entry is the shoot's BackupEntry, state its saved state, each nil for none. What may be
// left in the cloud is its infrastructure and its DNS records; a restore is neither possible nor needed
// (docs/ownership.md#spec-9-3).
func NothingToRestore(shoot *gardencorev1beta1.Shoot, entry *gardencorev1beta1.BackupEntry,
	state *shootstate.State) bool {
	switch {
	case shoot.DeletionTimestamp == nil:
		return false
	case entry == nil:
		return state == nil || state.Spent
	}
	return entry.DeletionTimestamp != nil && entry.Annotations[constants.ConfirmationDeletion] == constants.LabelTrue
}

// ReclaimGraph stands for the restore of a shoot that has nothing to restore: what it may still have in the cloud gets
// objects on this seed, so that the DeleteGraph finds and deletes it. Nothing has to become ready: an extension that
// has taken its object up deletes what it finds, by what is left of the state or by the shoot's tag.
func (o *Operation) ReclaimGraph() *flow.Graph {
	g := &flow.Graph{}
	namespace := g.Add(flow.Task{Name: "Deploying control plane namespace", Run: o.DeployNamespace})
	credentials := g.Add(flow.Task{Name: "Deploying cloud provider account secret", Run: o.DeployCredentials,
		After: after(namespace)})
	g.Add(flow.Task{Name: "Taking up what is left of the infrastructure", Run: o.reclaimInfrastructure,
		After: after(credentials), Skip: o.Workerless()})
	g.Add(flow.Task{Name: "Taking up the internal domain DNS record", Run: o.reclaimDNSRecord, After: after(credentials)})
	g.Add(flow.Task{Name: "Taking up the external domain DNS record", Run: o.reclaimExternalDNSRecord,
		After: after(credentials), Skip: !o.servesDomain()})
	return g
}

// reclaimInfrastructure does without the key pair of the nodes: it may be lost, and there are no nodes.
func (o *Operation) reclaimInfrastructure(ctx context.Context) error {
	infrastructure := o.Infrastructure()
	if err := o.DeployExtension(ctx, infrastructure, func() error {
		infrastructure.Spec = extensionsv1alpha1.InfrastructureSpec{
			DefaultSpec: o.providerSpec(o.Shoot.Spec.Provider.InfrastructureConfig),
			Region:      o.Shoot.Spec.Region,
			SecretRef:   o.cloudProviderRef(),
		}
		return nil
	}); err != nil {
		return err
	}
	return o.waitTakenUp(ctx, infrastructure)
}

func (o *Operation) reclaimDNSRecord(ctx context.Context) error {
	if err := o.DeployDNSRecord(ctx); err != nil {
		return err
	}
	return o.waitTakenUp(ctx, o.DNSRecord())
}

func (o *Operation) reclaimExternalDNSRecord(ctx context.Context) error {
	if err := o.DeployExternalDNSRecord(ctx); err != nil {
		return err
	}
	return o.waitTakenUp(ctx, o.ExternalDNSRecord())
}

// waitTakenUp waits until an extension has begun to work on the object: it has its finalizer by then, without which a
// deletion would be none.
func (o *Operation) waitTakenUp(ctx context.Context, object extensionsv1alpha1.Object) error {
	timeout := patience[kindOf(object, o.Seed.Scheme())].Timeout
	return o.Until(ctx, timeout, "the extension for "+name(object, o.Seed.Scheme()), func(ctx context.Context) error {
		if err := o.Seed.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return fmt.Errorf("read the object: %w", err)
		}
		if object.GetExtensionStatus().GetLastOperation() == nil {
			return errors.New("no last operation is recorded yet")
		}
		return nil
	})
}
