package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/review"
	"github.com/transplant-sim/transplant/controllers/maintenance/versionrules"
	"github.com/transplant-sim/transplant/controllers/placement"
	"github.com/transplant-sim/transplant/controllers/validation"
	"github.com/transplant-sim/transplant/controllers/validation/ratchet"
)

// profileValidator refuses writes to CloudProfiles with values that nobody could act on, or that break a rule about
// versions (docs/specification/versions.md#spec-4-2; shoot versions). It takes no version from a profile that a shoot
// uses.
type profileValidator struct {
	client client.Client
	clock  clock.PassiveClock
}

var _ admission.Handler = &profileValidator{}

// Handle answers one request. What cannot be judged is refused, as an internal error.
func (v *profileValidator) Handle(ctx context.Context, raw admission.Request) admission.Response {
	profile, err := decodeProfile(raw.Object)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("decode the profile: %w", err))
	}
	old, err := decodeProfile(raw.OldObject)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("decode the old profile: %w", err))
	}
	w, err := review.Read(&raw.AdmissionRequest, func() *gardencorev1beta1.CloudProfile {
		return &gardencorev1beta1.CloudProfile{}
	})
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	errs, err := v.judge(ctx, profile, old)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if profile != nil && old != nil {
		before := versionrules.ValidateCloudProfileUpdate(old, old, v.clock.Now())
		errs = ratchet.Added(errs, before, w.Wire, w.OldWire)
	}
	if w != nil {
		errs = append(errs, w.Judge(validation.CloudProfileChange, validation.CloudProfile)...)
	}
	return review.Answer(&raw.AdmissionRequest, errs)
}

func decodeProfile(object runtime.RawExtension) (*gardencorev1beta1.CloudProfile, error) {
	if len(object.Raw) == 0 {
		return nil, nil
	}
	profile := &gardencorev1beta1.CloudProfile{}
	if err := json.Unmarshal(object.Raw, profile); err != nil {
		return nil, err
	}
	profile.SetDefaults()
	return profile, nil
}

func (v *profileValidator) judge(ctx context.Context, profile, old *gardencorev1beta1.CloudProfile) (field.ErrorList,
	error) {
	if old == nil {
		return versionrules.ValidateCloudProfile(profile, v.clock.Now()), nil
	}
	shoots := &gardencorev1beta1.ShootList{}
	if err := v.client.List(ctx, shoots); err != nil {
		return nil, fmt.Errorf("list the shoots: %w", err)
	}
	users := profileShoots(old.Name, shoots.Items)
	if profile == nil {
		return unused("profile", users), nil
	}
	errs := versionrules.ValidateCloudProfileUpdate(profile, old, v.clock.Now())
	return append(errs, versionrules.ValidateVersionsInUse(profile, old, users)...), nil
}

// unused refuses to delete an object of this kind that shoots use.
func unused(kind string, users []gardencorev1beta1.Shoot) field.ErrorList {
	if len(users) == 0 {
		return nil
	}
	var names []string
	for i := range users {
		names = append(names, users[i].Namespace+"/"+users[i].Name)
	}
	slices.Sort(names)
	return field.ErrorList{field.Forbidden(field.NewPath("metadata", "deletionTimestamp"),
		"the "+kind+" must not be deleted while it is in use by shoot "+strings.Join(names[:min(len(names), review.MaxNamed)],
			", "))}
}

// profileShoots are the shoots that use a CloudProfile.
func profileShoots(name string, shoots []gardencorev1beta1.Shoot) []gardencorev1beta1.Shoot {
	var users []gardencorev1beta1.Shoot
	for i := range shoots {
		if used, _, unknown := placement.ProfileOf(&shoots[i]); unknown == nil && used == name {
			users = append(users, shoots[i])
		}
	}
	return users
}
