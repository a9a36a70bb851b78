package crds

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// expected are kinds that extensions take for granted on a seed: Gardener, or an operator that runs beside it, brings
// their definitions. All are namespaced. Nothing of ours reads them.
var expected = []struct {
	group, version string
	kinds          []string
	status         bool // is written apart from the spec
}{
	{"autoscaling.k8s.io", "v1", []string{"VerticalPodAutoscaler"}, true},
	{"cert.gardener.cloud", "v1alpha1", []string{"Certificate", "Issuer"}, true},
	{"dns.gardener.cloud", "v1alpha1", []string{"DNSEntry", "DNSProvider"}, true},
	{"druid.gardener.cloud", "v1alpha1", []string{"Etcd"}, true},
	{"monitoring.coreos.com", "v1", []string{"PodMonitor", "PrometheusRule", "ServiceMonitor"}, false},
	{"monitoring.coreos.com", "v1alpha1", []string{"ScrapeConfig"}, false},
}

// Expected returns the definitions of kinds that extensions take for granted on a seed. Their schemas accept and keep
// every field. The caller may change them.
func Expected() []*apiextensionsv1.CustomResourceDefinition {
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, e := range expected {
		for _, kind := range e.kinds {
			all = append(all, minimal(e.group, e.version, kind, e.status))
		}
	}
	return all
}

// minimal is the definition of a kind whose objects may have any field.
func minimal(group, version, kind string, status bool) *apiextensionsv1.CustomResourceDefinition {
	plural := plural(strings.ToLower(kind))
	served := apiextensionsv1.CustomResourceDefinitionVersion{Name: version, Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", XPreserveUnknownFields: ptr.To(true),
		}}}
	if status {
		served.Subresources = &apiextensionsv1.CustomResourceSubresources{
			Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
		}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group,
			// The API server refuses a definition in a group of Kubernetes that does not say so.
			Annotations: map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, a stand-in without schema"}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List",
				Plural: plural, Singular: strings.ToLower(kind)},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{served},
		},
	}
}

func plural(word string) string {
	if before, is := strings.CutSuffix(word, "y"); is {
		return before + "ies"
	}
	return word + "s"
}
