package fault

import (
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	securityv1alpha1 "github.com/transplant-sim/transplant/api/security/v1alpha1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/api/spelling"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
)

// kindsByGroup are the kinds of objects that a landscape has by itself.
var kindsByGroup = sync.OnceValue(func() map[string][]string {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, gardencorev1beta1.AddToScheme,
		extensionsv1alpha1.AddToScheme,
		machinev1alpha1.AddToScheme, resourcesv1alpha1.AddToScheme, securityv1alpha1.AddToScheme,
		seedmanagementv1alpha1.AddToScheme, transplantv1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	kinds := map[string][]string{}
	for kind := range scheme.AllKnownTypes() {
		if !strings.HasSuffix(kind.Kind, "List") && !strings.HasSuffix(kind.Kind, "Options") {
			kinds[kind.Group] = append(kinds[kind.Group], kind.Kind)
		}
	}
	for _, list := range kinds {
		slices.Sort(list) // which of two is as near must not be chance
	}
	return kinds
})

// misspelt is the kind that is meant by one of no group that there is not; empty if none is near, since users have
// kinds of their own.
func misspelt(kind string) string {
	var all []string
	for _, list := range kindsByGroup() {
		all = append(all, list...)
	}
	slices.Sort(all)
	return nearest(kind, all)
}

// misspeltIn is the same of a kind in a group; empty for groups that are not the landscape's.
func misspeltIn(group, kind string) string {
	if group == "core" {
		group = ""
	}
	return nearest(kind, kindsByGroup()[group])
}

// nearest is the kind that is meant; a kind that a user has defined is not taken for another.
func nearest(kind string, known []string) string {
	if slices.ContainsFunc(known, func(name string) bool { return strings.EqualFold(name, kind) }) {
		return ""
	}
	return spelling.Almost(kind, known)
}
