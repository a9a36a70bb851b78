// Package dnsrecord keeps the record sets of DNSRecords in the cloud's DNS. It does not keep owner records: those are
// the gardenlet's (package ownership).
package dnsrecord

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/fence"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

// Provider keeps them. Seed reads from the API server, not from a cache; Cloud must come from fence.Guarded.
type Provider struct {
	Seed  client.Client
	Cloud *cloud.Client
	Fence fence.Fence
	Clock clock.PassiveClock
}

// defaultTTL is the time to live of a record whose object names none, in seconds
// (docs/specification/migration.md#spec-2-9-2).
const defaultTTL = 120

// Kind is DNSRecord: one record set in the cloud's DNS. To migrate is to do nothing: the record stays as it is, and the
// next seed changes its values in place, so that the name never fails to resolve
// (docs/specification/migration.md#spec-2-9-2, docs/contract.md#clause-d12).
func (p *Provider) Kind() contract.Kind[*extensionsv1alpha1.DNSRecord] {
	kind := contract.KindOf[*extensionsv1alpha1.DNSRecord](extensionsv1alpha1.DNSRecordResource)
	namespace := fence.OwnNamespace[*extensionsv1alpha1.DNSRecord]
	kind.IgnoresCluster = true
	kind.OnReconcile = fence.Owned(p.Fence, namespace, p.reconcileDNSRecord)
	kind.OnDelete = fence.Owned(p.Fence, namespace, p.deleteDNSRecord)
	return kind
}

func (p *Provider) reconcileDNSRecord(ctx context.Context, log logr.Logger, obj *extensionsv1alpha1.DNSRecord,
	_ *contract.Cluster) error {
	zone, err := p.zoneOf(ctx, obj)
	if err != nil {
		return p.notCreated(ctx, obj, err)
	}
	records := p.Cloud.Records(zone.ID)
	wanted := &cloud.RecordSet{
		Name: obj.Spec.Name, Type: string(obj.Spec.RecordType), TTL: ptr.Deref(obj.Spec.TTL, defaultTTL),
		Values: obj.Spec.Values,
	}
	current, err := records.Get(ctx, wanted.Type, wanted.Name)
	if err != nil && !cloud.IsNotFound(err) {
		return p.notCreated(ctx, obj, fmt.Errorf("read the record %q: %w", wanted.Name, err))
	}
	if current == nil || current.TTL != wanted.TTL || !slices.Equal(current.Values, wanted.Values) {
		condition := cloud.If{Absent: current == nil}
		if current != nil {
			condition.Version = current.Version
		}
		if _, err := records.Put(ctx, wanted, condition); err != nil {
			return p.notCreated(ctx, obj, fmt.Errorf("put the record %q: %w", wanted.Name, err))
		}
		log.Info("The record was written", "name", wanted.Name, "values", wanted.Values)
	}
	contract.Publish(ctx, func() {
		obj.Status.Zone = ptr.To(zone.ID)
		p.setCreated(obj, gardencorev1beta1.ConditionTrue, "RecordCreated", "The record is in the zone.")
	})
	return nil
}

func (p *Provider) deleteDNSRecord(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.DNSRecord,
	_ *contract.Cluster) error {
	zone, err := p.zoneOf(ctx, obj)
	if errors.Is(err, errNoZone) {
		return nil // and so no record either: the zone of a shoot's own domain is its owner's
	}
	if err != nil {
		return err
	}
	err = p.Cloud.Records(zone.ID).Delete(ctx, string(obj.Spec.RecordType), obj.Spec.Name, cloud.If{})
	if err != nil && !cloud.IsNotFound(err) {
		return fmt.Errorf("delete the record %q: %w", obj.Spec.Name, err)
	}
	return nil
}

// errNoZone says that the cloud has no zone that a record could be in.
var errNoZone = errors.New("none matches")

// zoneOf finds the zone by the id or name that the object gives, or else by the longest domain that ends its name.
func (p *Provider) zoneOf(ctx context.Context, obj *extensionsv1alpha1.DNSRecord) (*cloud.Zone, error) {
	zones, err := p.Cloud.Zones().List(ctx, cloud.Filter{})
	if err != nil {
		return nil, fmt.Errorf("list the zones: %w", err)
	}
	var best *cloud.Zone
	for i, zone := range zones {
		switch {
		case obj.Spec.Zone != nil:
			if zone.ID == *obj.Spec.Zone || zone.Name == *obj.Spec.Zone {
				return &zones[i], nil
			}
		case strings.HasSuffix("."+obj.Spec.Name, "."+zone.Name) && (best == nil || len(zone.Name) > len(best.Name)):
			best = &zones[i]
		}
	}
	if best == nil {
		err := fmt.Errorf("find a zone for %q (%s): %w", obj.Spec.Name, ptr.Deref(obj.Spec.Zone, "by name"), errNoZone)
		return nil, contract.WithCodes(err, gardencorev1beta1.ErrorConfigurationProblem)
	}
	return best, nil
}

// notCreated says so on the object and hands the cause on.
func (p *Provider) notCreated(ctx context.Context, obj *extensionsv1alpha1.DNSRecord, cause error) error {
	if err := contract.PatchStatus(ctx, p.Seed, obj, func() {
		p.setCreated(obj, gardencorev1beta1.ConditionFalse, "RecordNotWritten", cause.Error())
	}); err != nil {
		return fmt.Errorf("%w; %w", cause, err)
	}
	return cause
}

func (p *Provider) setCreated(obj *extensionsv1alpha1.DNSRecord, status gardencorev1beta1.ConditionStatus, reason,
	message string) {
	obj.Status.Conditions, _ = reference.SetCondition(obj.Status.Conditions, gardencorev1beta1.Condition{
		Type: extensionsv1alpha1.ConditionTypeCreated, Status: status, Reason: reason, Message: message,
	}, metav1.NewTime(p.Clock.Now()))
}
