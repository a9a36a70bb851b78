package sidechange

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// oldest is the first minor version that the lists are about. Nothing is known, and nothing removed, below it.
const oldest = 30

//go:embed featuregates.txt
var featureGatesText string

// span is a range of minor versions of Kubernetes 1: from added on, and, unless it is 0, up to but without removed.
type span struct{ added, removed uint64 }

func (s span) contains(minor uint64) bool {
	return minor >= s.added && (s.removed == 0 || minor < s.removed)
}

var featureGates = parseSpans(featureGatesText)

// parseSpans reads a list of names and spans. It panics on a mistake in the list, which is part of the program.
func parseSpans(text string) map[string]span {
	spans := map[string]span{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var name, added, removed string
		if _, err := fmt.Sscan(line, &name, &added, &removed); err != nil {
			panic(fmt.Sprintf("read %q: %v", line, err))
		}
		spans[name] = span{added: minorOf(added), removed: minorOf(removed)}
	}
	return spans
}

func minorOf(text string) uint64 {
	if text == "-" {
		return 0
	}
	return semver.MustParse(text).Minor()
}

// admissionPlugins are those of the kube-apiserver.
var admissionPlugins = map[string]span{
	"AlwaysAdmit":                          {},
	"AlwaysDeny":                           {},
	"AlwaysPullImages":                     {},
	"CertificateApproval":                  {},
	"CertificateSigning":                   {},
	"CertificateSubjectRestriction":        {},
	"ClusterTrustBundleAttest":             {},
	"DefaultIngressClass":                  {},
	"DefaultStorageClass":                  {},
	"DefaultTolerationSeconds":             {},
	"DenyServiceExternalIPs":               {},
	"EventRateLimit":                       {},
	"ExtendedResourceToleration":           {},
	"ImagePolicyWebhook":                   {},
	"JobValidation":                        {added: 36, removed: 37},
	"LimitPodHardAntiAffinityTopology":     {},
	"LimitRanger":                          {},
	"MutatingAdmissionPolicy":              {added: 32},
	"MutatingAdmissionWebhook":             {},
	"NamespaceAutoProvision":               {},
	"NamespaceExists":                      {},
	"NamespaceLifecycle":                   {},
	"NodeDeclaredFeatureValidator":         {added: 35},
	"NodeRestriction":                      {},
	"OwnerReferencesPermissionEnforcement": {},
	"PersistentVolumeClaimResize":          {},
	"PersistentVolumeLabel":                {removed: 31},
	"PodGroupProtection":                   {added: 36},
	"PodGroupWorkloadExists":               {added: 36, removed: 37},
	"PodNodeSelector":                      {},
	"PodResizeValidator":                   {added: 36},
	"PodSecurity":                          {},
	"PodTolerationRestriction":             {},
	"PodTopologyLabels":                    {added: 33},
	"Priority":                             {},
	"ResourceQuota":                        {},
	"RuntimeClass":                         {},
	"ServiceAccount":                       {},
	"StorageObjectInUseProtection":         {},
	"TaintNodesByCondition":                {},
	"ValidatingAdmissionPolicy":            {},
	"ValidatingAdmissionWebhook":           {},
}

// FeatureGateSupported is whether components of a Kubernetes version know a feature gate; they do not start with one
// that they do not know. Of versions too old for the lists, everything is taken to be known.
func FeatureGateSupported(name string, v *semver.Version) bool {
	return supported(featureGates, name, v)
}

// AdmissionPluginSupported is the same for admission plugins of the kube-apiserver.
func AdmissionPluginSupported(name string, v *semver.Version) bool {
	return supported(admissionPlugins, name, v)
}

// notKnownToBeGone is for the cluster autoscaler, which has the gates of Kubernetes and some of its own.
func notKnownToBeGone(name string, v *semver.Version) bool {
	_, known := featureGates[name]
	return !known || FeatureGateSupported(name, v)
}

func supported(spans map[string]span, name string, v *semver.Version) bool {
	if v.Major() == 0 || v.Major() == 1 && v.Minor() < oldest {
		return true
	}
	s, known := spans[name]
	return known && s.contains(v.Minor())
}
