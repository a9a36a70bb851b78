package cleanup

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// Step is a step of the clean-up. Steps are taken one after the other (docs/specification/README.md#spec-0-0).
type Step int

// The steps, in order.
const (
	// Webhooks come first: they could refuse everything that follows.
	Webhooks Step = iota + 1
	// ExtendedAPIs are custom resources with their objects, and API servers behind the shoot's.
	ExtendedAPIs
	// KubernetesResources are what runs, and what it has made in the cloud.
	KubernetesResources
	// VolumeSnapshots come last: their controllers may need what goes before, unless it is labelled no-cleanup.
	VolumeSnapshots
)

// Steps are all steps in order.
func Steps() []Step { return []Step{Webhooks, ExtendedAPIs, KubernetesResources, VolumeSnapshots} }

// String is the step's name.
func (s Step) String() string {
	switch s {
	case Webhooks:
		return "webhooks"
	case ExtendedAPIs:
		return "extended APIs"
	case KubernetesResources:
		return "kubernetes resources"
	case VolumeSnapshots:
		return "volume snapshots"
	}
	return fmt.Sprintf("Step(%d)", int(s))
}

// Kind is a kind of objects that is cleaned up (docs/specification/cleanup.md#spec-6-3).
type Kind struct {
	schema.GroupVersionKind
	Step Step

	// sparing are the labels whose objects are left alone.
	sparing []label
	// inCloud is whether objects of the kind hold on to something in the cloud.
	inCloud bool
}

// label is a label with one value, or with any if value is empty.
type label struct{ key, value string }

// systemComponent is the value of the role of objects that belong to the cluster itself.
const systemComponent = "system-component"

// autoManaged is the label of APIServices that the API server makes for its own groups, again and again.
const autoManaged = "kube-aggregator.kubernetes.io/automanaged"

var (
	// common is what spares objects of every kind. That it does so for APIServices too is transplant's
	// (docs/specification/quirks.md#quirk-x1).
	common = []label{{constants.GardenRole, systemComponent}, {constants.ShootNoCleanup, constants.LabelTrue}}

	kinds = slices.Concat(
		step(Webhooks, "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
		sparing(label{autoManaged, ""}, step(ExtendedAPIs, "apiregistration.k8s.io/v1", "APIService")),
		step(ExtendedAPIs, "apiextensions.k8s.io/v1", "CustomResourceDefinition"),
		step(KubernetesResources, "batch/v1", "CronJob"),
		step(KubernetesResources, "apps/v1", "DaemonSet", "Deployment"),
		step(KubernetesResources, "networking.k8s.io/v1", "Ingress"),
		step(KubernetesResources, "batch/v1", "Job"),
		step(KubernetesResources, "v1", "Pod"),
		step(KubernetesResources, "apps/v1", "ReplicaSet"),
		step(KubernetesResources, "v1", "ReplicationController"),
		inCloud(sparing(label{"provider", "kubernetes"}, step(KubernetesResources, "v1", "Service"))),
		step(KubernetesResources, "apps/v1", "StatefulSet"),
		inCloud(step(KubernetesResources, "v1", "PersistentVolumeClaim")),
		step(VolumeSnapshots, "snapshot.storage.k8s.io/v1", "VolumeSnapshot", volumeSnapshotContent),
	)
)

const volumeSnapshotContent = "VolumeSnapshotContent"

func step(step Step, groupVersion string, names ...string) []Kind {
	parsed, err := schema.ParseGroupVersion(groupVersion)
	if err != nil {
		panic(err) // one of the literals above
	}
	var kinds []Kind
	for _, name := range names {
		kinds = append(kinds, Kind{GroupVersionKind: parsed.WithKind(name), Step: step, sparing: common})
	}
	return kinds
}

func sparing(also label, kinds []Kind) []Kind {
	for i := range kinds {
		kinds[i].sparing = append(slices.Clone(kinds[i].sparing), also)
	}
	return kinds
}

func inCloud(kinds []Kind) []Kind {
	for i := range kinds {
		kinds[i].inCloud = true
	}
	return kinds
}

// Kinds are the kinds of a step. If the shoot asks to skip clean-up (docs/specification/cleanup.md#spec-6-5) those of
// the third step are fewer.
func Kinds(step Step, skipped bool) []Kind {
	var found []Kind
	for _, k := range kinds {
		if k.Step == step && (!skipped || k.evenSkipped()) {
			found = append(found, k)
		}
	}
	return found
}

// evenSkipped is whether the kind is cleaned up although the shoot asks to skip clean-up. Only the third step becomes
// smaller then, as docs/specification/README.md#s3 has it.
func (k Kind) evenSkipped() bool { return k.Step != KubernetesResources || k.inCloud }

// kindOf finds a kind in any version.
func kindOf(gvk schema.GroupVersionKind) (Kind, bool) {
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.GroupKind() == gvk.GroupKind() })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

// Selector selects the objects of the kind that are cleaned up.
func (k Kind) Selector() labels.Selector {
	selector := labels.NewSelector()
	for _, l := range k.sparing {
		operator, values := selection.NotIn, []string{l.value}
		if l.value == "" {
			operator, values = selection.DoesNotExist, nil
		}
		requirement, err := labels.NewRequirement(l.key, operator, values)
		if err != nil {
			panic(err) // one of the labels above
		}
		selector = selector.Add(*requirement)
	}
	return selector
}

// spared is the label for which an object is left alone, "" if there is none.
func (k Kind) spared(of map[string]string) string {
	for _, l := range k.sparing {
		if value, found := of[l.key]; found && (l.value == "" || l.value == value) {
			return l.key + "=" + value
		}
	}
	return ""
}
