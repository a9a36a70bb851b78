package harm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/ready"
	"github.com/transplant-sim/transplant/cmd/transplant/actors"
	"github.com/transplant-sim/transplant/controllers/outside"
	"github.com/transplant-sim/transplant/sim/world"
)

var _ world.Outside = &Injector{}

// beginTimeout bounds the time from the start of the command until it has looked whether it may begin, and beginPoll is
// how often to look.
const (
	beginTimeout = time.Minute
	beginPoll    = 100 * time.Millisecond
)

// RestoreOutside implements world.Outside: it runs the command of the operator.
func (i *Injector) RestoreOutside(ctx context.Context, shoot string) error {
	l := i.on.Landscape
	on, can := l.(*embedded.Landscape)
	if !can {
		return fmt.Errorf("restore the control plane of shoot %q outside any seed: only the embedded backend can", shoot)
	}
	name := actors.RestoreControlPlane + "-" + shoot
	earlierRuns := func() bool { return false } // then the folder is that of the earlier command
	if earlier, err := on.Extras().Find(name); err == nil && earlier.Running() {
		name, earlierRuns = name+"-again", earlier.Running
	}
	err := on.Extras().Start(ctx, embedded.Extra{Name: name,
		Args: []string{actors.RestoreControlPlane, shoot, "--landscape=" + l.Dir().Name}})
	if err != nil {
		return err
	}
	started, err := on.Extras().Find(name)
	if err != nil {
		return err
	}
	return ready.Await(ctx, beginPoll, beginTimeout, func(context.Context) error {
		_, err := os.Stat(actors.OutsideDir(l.Dir(), shoot))
		if err == nil && earlierRuns() {
			err = errors.New("an earlier command runs the control plane")
		}
		if err != nil && !started.Running() {
			exit, is := errors.AsType[*exec.ExitError](started.Err())
			return ready.Never(world.RefusedOutside{Why: started.Ended().Error(),
				Owned: is && exit.ExitCode() == outside.ExitOwned})
		}
		return err
	})
}
