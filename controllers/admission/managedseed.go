package admission

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/admission/review"
	"github.com/transplant-sim/transplant/controllers/admission/shootrules"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/validation"
)

// managedSeedValidator refuses ManagedSeeds of shoots that cannot be seeds, and those whose Seeds would be refused
// (docs/specification/nodes-and-seeds.md#spec-7-7). What is stored keeps its shoot: shootrules protects that.
type managedSeedValidator struct{ client client.Client }

var _ admission.Handler = &managedSeedValidator{}

// Handle answers one request. What cannot be judged is refused, as an internal error.
func (v *managedSeedValidator) Handle(ctx context.Context, raw admission.Request) admission.Response {
	w, err := review.Read(&raw.AdmissionRequest, func() *seedmanagementv1alpha1.ManagedSeed {
		return &seedmanagementv1alpha1.ManagedSeed{}
	})
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if w == nil {
		return admission.Allowed("") // its controller waits until the Seed has no shoots
	}
	errs := w.Judge(func(_, _ *seedmanagementv1alpha1.ManagedSeed) field.ErrorList { return nil }, seedConfigValid)
	if !w.Update {
		unfit, err := v.unfit(ctx, w.Object)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		errs = append(errs, unfit...)
	}
	return review.Answer(&raw.AdmissionRequest, errs)
}

// seedConfigValid says what admission would have against the Seed.
func seedConfigValid(managed *seedmanagementv1alpha1.ManagedSeed) field.ErrorList {
	wire, unread := managed.Seed()
	if unread != nil {
		return field.ErrorList{unread}
	}
	if wire == nil {
		return nil
	}
	seed, path := &gardencorev1beta1.Seed{}, seedmanagementv1alpha1.SeedConfigPath()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(wire.Object, seed); err != nil {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, err.Error())}
	}
	seed.SetDefaults()
	errs := validation.Seed(seed)
	for _, err := range errs {
		err.Field = path.String() + "." + err.Field
	}
	return errs
}

// unfit says why a new ManagedSeed cannot be: its shoot is no seed yet, and its name is free.
func (v *managedSeedValidator) unfit(ctx context.Context,
	managed *seedmanagementv1alpha1.ManagedSeed) (field.ErrorList, error) {
	var errs field.ErrorList
	others := &seedmanagementv1alpha1.ManagedSeedList{}
	if err := v.client.List(ctx, others); err != nil {
		return nil, fmt.Errorf("list the managed seeds: %w", err)
	}
	name, shootName := field.NewPath("metadata", "name"), field.NewPath("spec", "shoot", "name")
	taken := ""
	for i := range others.Items {
		other := &others.Items[i]
		switch {
		case other.Namespace == managed.Namespace && other.Name == managed.Name:
			return nil, nil // the API server says that it exists
		case other.Name == managed.Name:
			taken = fmt.Sprintf("is the name of a ManagedSeed in namespace %q: Seeds have no namespace, so choose another name",
				other.Namespace)
		case other.Namespace == managed.Namespace && other.Spec.Shoot.Name == managed.Spec.Shoot.Name:
			errs = append(errs, field.Invalid(shootName, managed.Spec.Shoot.Name,
				fmt.Sprintf("is the shoot of ManagedSeed %q: a shoot is one seed", other.Name)))
		}
	}
	seed := &gardencorev1beta1.Seed{}
	err := v.client.Get(ctx, client.ObjectKey{Name: managed.Name}, seed)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read Seed %q: %w", managed.Name, err)
	}
	if err == nil && taken == "" {
		taken = "is the name of a Seed that is no managed seed: delete that, or choose another name"
	}
	if taken != "" {
		errs = append(errs, field.Invalid(name, managed.Name, taken))
	}
	shoot := &gardencorev1beta1.Shoot{}
	err = v.client.Get(ctx, client.ObjectKey{Namespace: managed.Namespace, Name: managed.Spec.Shoot.Name}, shoot)
	if apierrors.IsNotFound(err) {
		return append(errs, field.NotFound(shootName, managed.Spec.Shoot.Name)), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Shoot %q: %w", managed.Spec.Shoot.Name, err)
	}
	for _, why := range noSeed(shoot) {
		errs = append(errs, field.Invalid(shootName, managed.Spec.Shoot.Name, why))
	}
	return errs, nil
}

// noSeed says why a shoot cannot be a seed.
func noSeed(shoot *gardencorev1beta1.Shoot) []string {
	var why []string
	if shoot.DeletionTimestamp != nil {
		why = append(why, "the shoot is being deleted")
	}
	infrastructure := gardencorev1beta1.ShootPurposeInfrastructure
	if ptr.Deref(shoot.Spec.Purpose, "") != infrastructure {
		why = append(why, fmt.Sprintf("the shoot must have spec.purpose %q, so that it is evacuated before others",
			infrastructure))
	}
	if lifecycle.Hibernated(shoot) || shoot.Status.IsHibernated {
		why = append(why, "the shoot is hibernated: wake it up, by spec.hibernation.enabled=false")
	}
	if shootrules.SleepsBySchedule(shoot) {
		why = append(why, "the shoot must have no start in spec.hibernation.schedules")
	}
	return why
}
