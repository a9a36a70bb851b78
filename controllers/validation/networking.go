package validation

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// ipFamilies are what networks here can have.
var ipFamilies = []gardencorev1beta1.IPFamily{gardencorev1beta1.IPFamilyIPv4}

// maxNodesBits is the length of the longest prefix that the infrastructure can divide into subnets.
const maxNodesBits = 24

// network is a range and the field that has it.
type network struct {
	path *field.Path
	cidr string
}

func networking(shoot *gardencorev1beta1.Shoot) field.ErrorList {
	wanted := shoot.Spec.Networking
	if wanted == nil {
		return nil
	}
	path := field.NewPath("spec", "networking")
	var errs field.ErrorList
	if wanted.Type != nil {
		errs = append(errs, subdomain(path.Child("type"), *wanted.Type)...)
	}
	errs = append(errs, families(path.Child("ipFamilies"), wanted.IPFamilies)...)
	nodes := ptr.Deref(wanted.Nodes, "")
	if prefix, err := netip.ParsePrefix(nodes); err == nil && prefix.Addr().Is4() && prefix.Bits() > maxNodesBits {
		errs = append(errs, field.Invalid(path.Child("nodes"), nodes,
			fmt.Sprintf("must be a /%d or larger: the subnets of the zones are parts of it", maxNodesBits)))
	}
	return append(errs, networks([]network{
		{path.Child("pods"), ptr.Deref(wanted.Pods, "")},
		{path.Child("nodes"), nodes},
		{path.Child("services"), ptr.Deref(wanted.Services, "")},
	})...)
}

func families(path *field.Path, list []gardencorev1beta1.IPFamily) field.ErrorList {
	var errs field.ErrorList
	for i, family := range list {
		errs = append(errs, oneOf(path.Index(i), family, ipFamilies)...)
	}
	return errs
}

// networks wants ranges that can be read, and of which no two overlap. Those that are not given are chosen by others.
func networks(all []network) field.ErrorList {
	var errs field.ErrorList
	for i, one := range all {
		if one.cidr == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(one.cidr)
		if err != nil || prefix != prefix.Masked() || !prefix.Addr().Is4() {
			errs = append(errs,
				field.Invalid(one.path, one.cidr, "must be the range of an IPv4 network, for example 10.250.0.0/16"))
			continue
		}
		for _, other := range all[:i] {
			if taken, err := netip.ParsePrefix(other.cidr); err == nil && prefix.Overlaps(taken) {
				errs = append(errs, field.Invalid(one.path, one.cidr,
					fmt.Sprintf("must not overlap with %s, which is %s", other.path, other.cidr)))
			}
		}
	}
	return errs
}
