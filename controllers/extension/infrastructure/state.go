package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

// Config is the provider config of an Infrastructure.
type Config struct {
	metav1.TypeMeta `json:",inline"`

	// Workers is the network of the nodes; default is the shoot's, or 10.250.0.0/16.
	Workers string `json:"workers,omitempty"`
	// RouterID and SecurityGroupID name resources that are to be taken over when the state was lost: nothing in the
	// cloud shows whose they are.
	RouterID        string `json:"routerID,omitempty"`
	SecurityGroupID string `json:"securityGroupID,omitempty"`
}

// Status is the provider status of an Infrastructure: what ControlPlane and Worker build on.
type Status struct {
	metav1.TypeMeta `json:",inline"`

	NetworkID       string         `json:"networkID"`
	Subnets         []SubnetStatus `json:"subnets"`
	RouterID        string         `json:"routerID"`
	SecurityGroupID string         `json:"securityGroupID"`
	KeyPairName     string         `json:"keyPairName,omitempty"`
	EgressIP        string         `json:"egressIP,omitempty"`
}

// StatusOf reads the Infrastructure's provider status that an object was given. It is fresh from this seed's
// Infrastructure: nothing else has it (docs/specification/extensions.md#spec-3-8).
func StatusOf(obj client.Object, given *runtime.RawExtension) (*Status, error) {
	status := &Status{}
	err := reference.Decode(given, status)
	if err == nil && status.NetworkID == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		err = fmt.Errorf("read the infrastructureProviderStatus of %q: %w", obj.GetName(), err)
		return nil, contract.WithCodes(err, gardencorev1beta1.ErrorConfigurationProblem)
	}
	return status, nil
}

// SubnetStatus is the subnet of one zone.
type SubnetStatus struct {
	Zone string `json:"zone"`
	ID   string `json:"id"`
	CIDR string `json:"cidr"`
}

// State is the state document of an Infrastructure: the only place where the ids of its router and its
// security group are written down, and nothing that depends on a seed (docs/specification/extensions.md#spec-3-8,
// docs/contract.md#c-state-is-complete).
type State struct {
	metav1.TypeMeta `json:",inline"`

	// Whole means that this document is as old as the infrastructure: what it does not list does not exist. A document
	// that was begun when something was there already never becomes whole by itself.
	Whole bool `json:"whole"`

	CIDR            string         `json:"cidr,omitempty"`
	NetworkID       string         `json:"networkID,omitempty"`
	Subnets         []SubnetStatus `json:"subnets,omitempty"`
	RouterID        string         `json:"routerID,omitempty"`
	SecurityGroupID string         `json:"securityGroupID,omitempty"`
	KeyPairID       string         `json:"keyPairID,omitempty"`

	// Pending has the tokens of creations that were begun and whose ids are not known yet, by resource, and By the
	// object that began them. Only who began one can ask the cloud for its outcome.
	Pending map[string]string `json:"pending,omitempty"`
	By      string            `json:"by,omitempty"`
}

func (s *State) subnet(zone string) *SubnetStatus {
	for i := range s.Subnets {
		if s.Subnets[i].Zone == zone {
			return &s.Subnets[i]
		}
	}
	return nil
}

func (s *State) setSubnet(subnet SubnetStatus) {
	if known := s.subnet(subnet.Zone); known != nil {
		*known = subnet
		return
	}
	s.Subnets = append(s.Subnets, subnet)
	slices.SortFunc(s.Subnets, func(a, b SubnetStatus) int { return strings.Compare(a.Zone, b.Zone) })
}

// saveState writes the state document if it has changed.
func (p *Provider) saveState(ctx context.Context, obj *extensionsv1alpha1.Infrastructure,
	state *State) error {
	state.TypeMeta = metav1.TypeMeta{APIVersion: reference.APIVersion, Kind: "InfrastructureState"}
	if len(state.Pending) == 0 {
		state.Pending, state.By = nil, ""
	}
	return contract.PatchStatus(ctx, p.Seed, obj, func() { obj.Status.State = reference.Encode(state) })
}
