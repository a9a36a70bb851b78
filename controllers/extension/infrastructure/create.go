package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
)

// ErrStateLost says that a resource exists, or may exist, that only a lost state could name.
var ErrStateLost = errors.New("the state that knew it is lost")

// mayCreateUntagged refuses to create what could never be found to exist already. It may be created if the document is
// whole, unless somebody else's creation of it was under way when the document was saved.
func (i *infra) mayCreateUntagged(name, lost string) error {
	foreign := i.state.Pending[name] != "" && i.state.By != string(i.obj.UID)
	if i.state.Whole && !foreign || lost != "" {
		return nil
	}
	return contract.WithCodes(
		fmt.Errorf("take over the %s of network %q: %w; name it in the providerConfig", name, i.state.NetworkID,
			ErrStateLost),
		gardencorev1beta1.ErrorInfraDependencies)
}

// settled records an id and forgets the creation that led to it.
func (i *infra) settled(ctx context.Context, name string) error {
	delete(i.state.Pending, name)
	return i.saveState(ctx, i.obj, i.state)
}

// create creates a resource so that a crash at any moment makes no second one: the token is saved before it is used,
// and the cloud answers a used token with what it has made.
func create[T any](ctx context.Context, i *infra, name string, of cloud.Collection[T], wanted *T) (*T, error) {
	i.takeOverPending()
	if i.state.Pending[name] == "" {
		if i.state.Pending == nil {
			i.state.Pending = map[string]string{}
		}
		i.state.Pending[name] = string(uuid.NewUUID())
		if err := i.saveState(ctx, i.obj, i.state); err != nil {
			return nil, err
		}
	}
	made, err := of.Create(ctx, wanted, cloud.ClientToken(i.state.Pending[name]))
	if cloud.IsConflict(err) {
		// The token is spent: what it made is gone, or was wanted otherwise. The next attempt begins anew.
		err = errors.Join(err, i.settled(ctx, name))
	}
	if err != nil {
		return nil, fmt.Errorf("create the %s: %w", name, err)
	}
	return made, nil
}

// takeOverPending drops the tokens of another object, which the cloud would not know from us. If one of them may have
// led to a resource without a tag, the document is whole no more.
func (i *infra) takeOverPending() {
	if i.state.By == string(i.obj.UID) {
		return
	}
	routerUnknown := i.state.Pending["router"] != "" && i.state.RouterID == ""
	groupUnknown := i.state.Pending["securityGroup"] != "" && i.state.SecurityGroupID == ""
	i.state.Whole = i.state.Whole && !routerUnknown && !groupUnknown
	i.state.Pending, i.state.By = nil, string(i.obj.UID)
}

// find reads a resource by its id; nil if there is no id or no such resource any more.
func find[T any](ctx context.Context, in cloud.Collection[T], id string) (*T, error) {
	if id == "" {
		return nil, nil
	}
	found, err := in.Get(ctx, id)
	if cloud.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the cloud resource %q: %w", id, err)
	}
	return found, nil
}

// adopt finds the one resource that the filter matches; nil if there is none, an error if it could be several.
func adopt[T any](ctx context.Context, in cloud.Collection[T], filter cloud.Filter) (*T, error) {
	all, err := in.List(ctx, filter)
	switch {
	case err != nil:
		return nil, fmt.Errorf("look for cloud resources to adopt: %w", err)
	case len(all) > 1:
		return nil, contract.WithCodes(fmt.Errorf("adopt a cloud resource: %d of them match %v", len(all), filter),
			gardencorev1beta1.ErrorInfraDependencies)
	case len(all) == 0:
		return nil, nil
	}
	return &all[0], nil
}

// freeSubnet is the first of the sixteen equal parts of a network that overlaps no subnet.
func freeSubnet(network string, existing []SubnetStatus) (string, error) {
	whole, err := netip.ParsePrefix(network)
	if err != nil {
		return "", fmt.Errorf("parse the network of the nodes: %w", err)
	}
	for part := range 16 {
		candidate, err := nthPart(whole, part)
		if err != nil {
			return "", err
		}
		free := true
		for _, subnet := range existing {
			taken, err := netip.ParsePrefix(subnet.CIDR)
			free = free && (err != nil || !taken.Overlaps(candidate))
		}
		if free {
			return candidate.String(), nil
		}
	}
	return "", fmt.Errorf("the network %s has no room for another subnet", network)
}

func nthPart(whole netip.Prefix, n int) (netip.Prefix, error) {
	bits := whole.Bits() + 4
	if !whole.Addr().Is4() || bits > 28 {
		return netip.Prefix{}, fmt.Errorf("the network %s must be IPv4 and /24 or larger", whole)
	}
	base := whole.Masked().Addr().As4()
	value := uint32(base[0])<<24 | uint32(base[1])<<16 | uint32(base[2])<<8 | uint32(base[3])
	value += uint32(n) << (32 - bits)
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}),
		bits), nil
}
