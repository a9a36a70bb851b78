package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// Tags of the shoot's machines in the cloud. All but the epoch are read again when a machine has to be found.
const (
	tagShoot   = "transplant.dev/shoot"
	tagEpoch   = "transplant.dev/epoch"
	tagMachine = "transplant.dev/machine"
	tagSet     = "transplant.dev/machine-set"
	tagClass   = "transplant.dev/machine-class"
)

// providerPrefix begins the provider ids of machines and of their nodes.
const providerPrefix = "transplant:///"

// Cloud is what the controller needs of the cloud: the machines of one shoot.
type Cloud interface {
	// Create makes a machine with the shoot's tags added. The token makes it idempotent.
	Create(ctx context.Context, machine *cloud.Machine, token string) (*cloud.Machine, error)
	// Get reads a machine; nil if there is none, or no more.
	Get(ctx context.Context, id string) (*cloud.Machine, error)
	// List reads the shoot's machines that have the tags, oldest first.
	List(ctx context.Context, tags map[string]string) ([]cloud.Machine, error)
	// Delete terminates a machine; one that is gone is fine.
	Delete(ctx context.Context, id string) error
}

// Owner says whether this seed owns the shoot.
type Owner interface {
	// Valid fails with an error that is validity.ErrLapsed unless the shoot's guard has said so shortly before.
	Valid(ctx context.Context) error
}

// GuardedCloud is the cloud for the owner of a shoot: nothing is changed in it unless the shoot's guard has said so
// shortly before (docs/ownership.md#o8).
type GuardedCloud struct {
	Client *cloud.Client
	Holder *validity.Holder
	Shoot  string // technical id

	calls sync.RWMutex // read-locked by every call under way
}

var (
	_ Cloud = &GuardedCloud{}
	_ Owner = &GuardedCloud{}
)

// Revoked returns when no call is under way any more; their contexts have been cancelled by then.
func (c *GuardedCloud) Revoked() {
	c.calls.Lock()
	defer c.calls.Unlock()
}

// Leave ends all calls and informs the guard that none will follow.
func (c *GuardedCloud) Leave(ctx context.Context) error {
	c.Holder.Term().End()
	c.Revoked()
	return c.Holder.Leave(ctx)
}

// Own makes one mutating call under the present term, whose epoch it is given. The term cancels it when it ends;
// without one the error is validity.ErrLapsed.
func (c *GuardedCloud) Own(ctx context.Context, call func(context.Context, int64) error) error {
	c.calls.RLock()
	defer c.calls.RUnlock()
	if err := c.Valid(ctx); err != nil {
		return err
	}
	term := c.Holder.Term()
	ctx, cancel := term.Context(ctx)
	defer cancel()
	ctx = cloud.WithScope(ctx, cloud.Scope{Shoot: c.Shoot, Epoch: term.Epoch()})
	if !term.Valid() {
		return validity.ErrLapsed
	}
	err := call(ctx, term.Epoch())
	if err != nil && errors.Is(context.Cause(ctx), validity.ErrLapsed) {
		return errors.Join(validity.ErrLapsed, err)
	}
	return err
}

// Valid implements Owner.
func (c *GuardedCloud) Valid(ctx context.Context) error {
	if c.Holder.Term().Valid() {
		return nil
	}
	if err := c.Holder.Ask(ctx); err != nil {
		return errors.Join(validity.ErrLapsed, err)
	}
	return nil
}

// Create implements Cloud.
func (c *GuardedCloud) Create(ctx context.Context, machine *cloud.Machine, token string) (made *cloud.Machine,
	err error) {
	err = c.Own(ctx, func(ctx context.Context, epoch int64) error {
		wanted := *machine
		wanted.Tags = map[string]string{tagShoot: c.Shoot, tagEpoch: fmt.Sprint(epoch)}
		maps.Copy(wanted.Tags, machine.Tags)
		made, err = c.Client.Machines().Create(ctx, &wanted, cloud.ClientToken(token))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create the machine %q: %w", machine.Name, err)
	}
	return made, nil
}

// Get implements Cloud.
func (c *GuardedCloud) Get(ctx context.Context, id string) (*cloud.Machine, error) {
	found, err := c.Client.Machines().Get(c.scoped(ctx), id)
	if cloud.IsNotFound(err) || (err == nil && found.State == cloud.MachineTerminated) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the machine %q: %w", id, err)
	}
	return found, nil
}

// List implements Cloud.
func (c *GuardedCloud) List(ctx context.Context, tags map[string]string) ([]cloud.Machine, error) {
	filter := cloud.Filter{Tags: map[string]string{tagShoot: c.Shoot}}
	maps.Copy(filter.Tags, tags)
	found, err := c.Client.Machines().List(c.scoped(ctx), filter)
	if err != nil {
		return nil, fmt.Errorf("list the machines of shoot %q: %w", c.Shoot, err)
	}
	return found, nil
}

// Delete implements Cloud.
func (c *GuardedCloud) Delete(ctx context.Context, id string) error {
	err := c.Own(ctx, func(ctx context.Context, _ int64) error { return c.Client.Machines().Delete(ctx, id) })
	if err != nil && !cloud.IsNotFound(err) {
		return fmt.Errorf("delete the machine %q: %w", id, err)
	}
	return nil
}

func (c *GuardedCloud) scoped(ctx context.Context) context.Context {
	return cloud.WithScope(ctx, cloud.Scope{Shoot: c.Shoot})
}

// idOf is the cloud's id of a machine with this provider id.
func idOf(providerID string) string { return providerID[strings.LastIndex(providerID, "/")+1:] }
