package environment

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// Names that manifests and scenarios share (see ARCHITECTURE.md).
const (
	Project           = "p"
	Domain            = "shoots.transplant.test"
	DefaultDomain     = "clusters.transplant.test"
	KubernetesVersion = "1.37.2"

	image           = "transplant.dev/transplant:dev"
	kubernetesImage = "transplant.dev/controlplane:v" + KubernetesVersion
)

const (
	gcm           = "garden-controller-manager"
	keyKubeconfig = "kubeconfig"
)

// domainOf a shoot is the one that it has if the scenario wants it to have one.
func domainOf(shoot string) string { return shoot + "." + Project + "." + DefaultDomain }

// HostsOf a shoot are all names that its API server may have.
func HostsOf(shoot string) []string {
	return []string{"api." + shoot + "." + Project + "." + Domain, "api." + domainOf(shoot)}
}

// TechnicalID of a shoot of the project. It is its namespace on a seed.
func TechnicalID(shoot string) string {
	return constants.TechnicalIDPrefix + Project + "--" + shoot
}

// ShootKey is namespace and name of a Shoot in the garden.
func ShootKey(shoot string) types.NamespacedName {
	return types.NamespacedName{Namespace: constants.ProjectNamespacePrefix + Project, Name: shoot}
}
