package embedded

import (
	"context"
	"fmt"
	"strings"

	"github.com/transplant-sim/transplant/clusters/embedded/address"
)

// takeSlot takes the slot that was asked for, or the first one of the order in which every address is free.
func (o *Options) takeSlot(ctx context.Context) (claim *address.Claim, err error) {
	if o.Slot == nil {
		order := address.Order(address.FirstOnes)
		if o.ToKeep {
			order = address.LastOnes
		}
		if claim, err = address.Take(ctx, order, o.endpoints); err != nil {
			return claim, err
		}
		if claim.Passed != nil {
			o.Progress(passedOver(claim))
		}
		return claim, nil
	}
	instead := "end it, choose another one with --slot, or leave that out and the first that fits is taken"
	if o.From != nil {
		instead = "end it: a checkpoint is started at the addresses that it was made with"
	}
	if claim, err = address.TakeSlot(*o.Slot); err != nil {
		return claim, fmt.Errorf("%w: %s", err, instead)
	}
	endpoints, err := o.endpoints(claim.Slot)
	if err != nil {
		return claim, err
	}
	if err := address.CheckFree(ctx, endpoints); err != nil {
		return claim, fmt.Errorf("use the addresses of slot %d: %w: %s", claim.Slot, err, instead)
	}
	return claim, nil
}

// endpoints are what the landscape is going to listen on in a slot.
func (o *Options) endpoints(slot address.Slot) ([]address.Endpoint, error) {
	all := []address.Endpoint{
		{Network: "tcp", AddrPort: slot.Cloud(), Purpose: "the cloud's API"},
		{Network: "tcp", AddrPort: slot.DNS(), Purpose: "the cloud's DNS"},
		{Network: "udp", AddrPort: slot.DNS(), Purpose: "the cloud's DNS"},
		{Network: "tcp", AddrPort: slot.CloudMetrics(), Purpose: "the cloud's metrics"},
		{Network: "tcp", AddrPort: slot.NodesMetrics(), Purpose: "the nodes' metrics"},
	}
	for n, name := range o.names() {
		plan, err := slot.Cluster(n)
		if err != nil {
			return nil, err
		}
		all = append(all, endpointsOf(name, plan)...)
	}
	return all, nil
}

// passedOver is the news that an earlier slot is not used, and why.
func passedOver(claim *address.Claim) Progress {
	reasons := strings.ReplaceAll(claim.Passed.Error(), "\n", "; ")
	return Progress{Subject: "addresses", What: fmt.Sprintf("slot %d is taken, for in an earlier one %s", claim.Slot,
		reasons)}
}
