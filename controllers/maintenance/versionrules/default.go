package versionrules

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
)

// partial is a version that names only a part of itself, or nothing.
var partial = regexp.MustCompile(`^(\d+(\.\d+)?)?$`)

// CompleteKubernetes completes a Kubernetes version that names only its major or minor version, or nothing, to the
// highest supported version of that kind: never to a preview, a deprecated or an expired one. Others are returned as
// they are.
func CompleteKubernetes(profile *gardencorev1beta1.CloudProfile, text string, now time.Time) (string, error) {
	completed, err := complete(profile.Spec.Kubernetes.Versions, text, now)
	if err != nil {
		return "", fmt.Errorf("complete the Kubernetes version %q: %w", text, err)
	}
	return completed, nil
}

// CompleteImage does the same for a version of a machine image, among those that fit. The image may have no version
// that is worth choosing for a new pool.
func CompleteImage(image *gardencorev1beta1.MachineImage, text string,
	fits func(gardencorev1beta1.MachineImageVersion) bool, now time.Time) (string, error) {
	var versions []gardencorev1beta1.ExpirableVersion
	for _, v := range image.Versions {
		if fits(v) {
			versions = append(versions, v.ExpirableVersion)
		}
	}
	completed, err := complete(versions, text, now)
	if err != nil {
		return "", fmt.Errorf("complete the version %q of machine image %q: %w", text, image.Name, err)
	}
	return completed, nil
}

func complete(versions []gardencorev1beta1.ExpirableVersion, text string, now time.Time) (string, error) {
	if !partial.MatchString(text) {
		return text, nil
	}
	offers, _ := version.OffersAt(versions, now)
	latest, found := offers.Where(func(offer version.Offer) bool {
		return offer.Class == gardencorev1beta1.ClassificationSupported && begins(offer, text)
	}).Latest()
	if !found {
		return "", fmt.Errorf("the CloudProfile has no supported version of it: name a version in full")
	}
	return latest.Text, nil
}

// begins is whether an offer is a version of the kind that a part names.
func begins(offer version.Offer, part string) bool {
	return part == "" || strings.HasPrefix(offer.Number().String()+".", part+".")
}
