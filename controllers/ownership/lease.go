package ownership

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// LeaseAuthority is the claim: a Lease in the garden (docs/ownership.md#spec-9-1). Its client never caches; a GET
// without a resource version is answered from etcd's quorum.
type LeaseAuthority struct {
	Leases coordinationclient.LeaseInterface
	Name   string
}

var _ Authority = &LeaseAuthority{}

// Read implements Authority. The version is UID and resource version, so that a Lease made anew is another one.
func (l *LeaseAuthority) Read(ctx context.Context) (Record, Version, error) {
	lease, err := l.Leases.Get(ctx, l.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Record{}, "", nil
	}
	if err != nil {
		return Record{}, "", fmt.Errorf("get the ownership lease %q: %w", l.Name, err)
	}
	version := Version(string(lease.UID) + "/" + lease.ResourceVersion)
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return Record{}, version, nil
	}
	epoch, err := strconv.ParseInt(lease.Annotations[constants.OwnershipEpoch], 10, 64)
	if err != nil || epoch < 1 {
		return Record{}, "", fmt.Errorf("parse the ownership lease %q: annotation %s is %q, not a positive number",
			l.Name, constants.OwnershipEpoch, lease.Annotations[constants.OwnershipEpoch])
	}
	seed := lease.Annotations[constants.OwnershipSeed]
	return Record{Owner: *lease.Spec.HolderIdentity, Epoch: epoch, Seed: seed}, version, nil
}

// CompareAndSet implements Authority by create, or by a merge patch that carries UID and resource version.
func (l *LeaseAuthority) CompareAndSet(ctx context.Context, old Version, record Record) error {
	annotations := map[string]string{
		constants.OwnershipEpoch: strconv.FormatInt(record.Epoch, 10), constants.OwnershipSeed: record.Seed,
	}
	if old == "" {
		_, err := l.Leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: l.Name, Annotations: annotations},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &record.Owner},
		}, metav1.CreateOptions{})
		return l.written(err)
	}
	uid, resourceVersion, _ := strings.Cut(string(old), "/")
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": uid, "resourceVersion": resourceVersion, "annotations": annotations},
		"spec":     map[string]any{"holderIdentity": record.Owner},
	})
	if err != nil {
		return fmt.Errorf("encode the ownership lease %q: %w", l.Name, err)
	}
	_, err = l.Leases.Patch(ctx, l.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return l.written(err)
}

func (l *LeaseAuthority) written(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %w", ErrConflict, err)
	default:
		return fmt.Errorf("write the ownership lease %q: %w", l.Name, err)
	}
}
