package validation

import (
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// shootExtensions wants each type once: it is the name of the Extension object.
func shootExtensions(shoot *gardencorev1beta1.Shoot) field.ErrorList {
	var errs field.ErrorList
	types := seen{}
	for i, extension := range shoot.Spec.Extensions {
		at := field.NewPath("spec", "extensions").Index(i).Child("type")
		errs = append(errs, subdomain(at, extension.Type)...)
		errs = append(errs, types.once(at, extension.Type)...)
	}
	return errs
}

// shootResources wants each name once, by which extensions know the object, and objects of kinds that are copied.
func shootResources(shoot *gardencorev1beta1.Shoot) field.ErrorList {
	var errs field.ErrorList
	names := seen{}
	for i, resource := range shoot.Spec.Resources {
		at := field.NewPath("spec", "resources").Index(i)
		errs = append(errs, names.once(at.Child("name"), resource.Name)...)
		errs = append(errs, reference(at.Child("resourceRef"), resource.ResourceRef, "Secret", "ConfigMap")...)
	}
	return errs
}

// reference wants an object of v1, of one of the kinds.
func reference(path *field.Path, ref autoscalingv1.CrossVersionObjectReference, kinds ...string) field.ErrorList {
	errs := oneOf(path.Child("apiVersion"), ref.APIVersion, []string{"v1"})
	errs = append(errs, oneOf(path.Child("kind"), ref.Kind, kinds)...)
	return append(errs, subdomain(path.Child("name"), ref.Name)...)
}

// shootDNS wants providers that can serve the shoot's domain. Package admission checks whether the domain is free and
// served.
func shootDNS(shoot *gardencorev1beta1.Shoot) field.ErrorList {
	dns := shoot.Spec.DNS
	if dns == nil {
		return nil
	}
	var errs field.ErrorList
	path := field.NewPath("spec", "dns", "providers")
	for i, provider := range dns.Providers {
		errs = append(errs, dnsProvider(path.Index(i), provider)...)
		if ptr.Deref(provider.Primary, false) && ptr.Deref(dns.Domain, "") == "" {
			errs = append(errs, field.Forbidden(path.Index(i).Child("primary"),
				"must not be true without spec.dns.domain, which the primary provider serves"))
		}
	}
	return errs
}

func dnsProvider(path *field.Path, provider gardencorev1beta1.DNSProvider) field.ErrorList {
	var errs field.ErrorList
	if provider.Type != nil {
		errs = append(errs, subdomain(path.Child("type"), *provider.Type)...)
	}
	if provider.SecretName != nil {
		errs = append(errs, subdomain(path.Child("secretName"), *provider.SecretName)...)
	}
	if provider.CredentialsRef != nil {
		errs = append(errs, reference(path.Child("credentialsRef"), *provider.CredentialsRef, "Secret")...)
		if provider.SecretName != nil && *provider.SecretName != provider.CredentialsRef.Name {
			errs = append(errs, field.Invalid(path.Child("secretName"), *provider.SecretName,
				fmt.Sprintf("must be the name of credentialsRef, %q, or be left out", provider.CredentialsRef.Name)))
		}
	}
	if zones := provider.Zones; zones != nil {
		included := seen{}
		for i, zone := range zones.Include {
			errs = append(errs, included.once(path.Child("zones", "include").Index(i), zone)...)
		}
	}
	return errs
}
