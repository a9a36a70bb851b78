package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/userdata"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/sim/nodes/real"
)

// Defaults of the options.
const (
	DefaultSync         = 2 * time.Second
	DefaultLeaseSeconds = 40 // of a kubelet
)

// resync is how often the machines are listed although the cloud has reported no change.
const resync = 10 * time.Second

// Options of an agent.
type Options struct {
	Cloud        *cloud.Client // of an identity that may read user data and the ledger
	ProxyURL     *url.URL      // by which shoots are reached; nil means directly
	ProxyCA      []byte        // PEM, trusted beside the shoots' own authorities
	Kwok         string        // the multi-call binary that holds kwok
	RootDir      string        // the machines' disks, and kwok's files
	Sync         time.Duration // between two looks at a shoot; 0 means DefaultSync
	LeaseSeconds int           // 0 means DefaultLeaseSeconds
	// Kubelet is where API servers find what answers for the kubelets of nodes; the zero value means nowhere.
	Kubelet netip.AddrPort
	// Real is about nodes that run pods.
	Real  real.Options
	Clock clock.Clock // nil means the real one
	Log   logr.Logger
}

// Agent turns machines into nodes.
type Agent struct {
	options Options
	runner  *process.Runner

	mutex   sync.Mutex
	shoots  map[string]*runningShoot
	refused map[string]string // machines with user data that cannot be used
	failure string

	known map[string]*machine // by id; of the main loop alone
	had   map[string]string   // the machine that each volume was attached to last; of the main loop alone
}

type runningShoot struct {
	*shoot
	end  context.CancelFunc
	done chan struct{}
}

// New makes an agent that does nothing yet.
func New(o Options) *Agent {
	o.Sync = cmp.Or(o.Sync, DefaultSync)
	o.LeaseSeconds = cmp.Or(o.LeaseSeconds, DefaultLeaseSeconds)
	o.Clock = cmp.Or[clock.Clock](o.Clock, clock.RealClock{})
	return &Agent{options: o, shoots: map[string]*runningShoot{}, refused: map[string]string{},
		known: map[string]*machine{}}
}

// Run follows the cloud's machines until ctx is done, then ends all kwok processes. No cloud and no shoot ever makes
// it give up.
func (a *Agent) Run(ctx context.Context) error {
	a.runner = process.NewRunner()
	changed := make(chan struct{}, 1)
	var follower sync.WaitGroup
	follower.Go(func() { a.follow(ctx, cloud.KindMachines, changed) })
	if len(a.options.Real.Networks) > 0 {
		follower.Go(func() { a.follow(ctx, cloud.KindVolumes, changed) })
	}
	for ctx.Err() == nil {
		next, err := a.look(ctx)
		a.fail(ctx, err)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-a.options.Clock.After(next):
		}
	}
	follower.Wait()
	for _, running := range a.shoots {
		running.end()
	}
	for _, running := range a.shoots {
		<-running.done
	}
	return a.runner.Close()
}

func (a *Agent) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	before := a.failure
	a.failure = ""
	if err != nil {
		a.failure = err.Error()
	}
	// Every text differs, by the id of its request; rounds are many.
	switch {
	case a.failure == "" && before != "":
		a.options.Log.Info("Cloud is all right again")
	case a.failure != "" && before == "":
		a.options.Log.Info("Cloud is not all right", "error", a.failure)
	}
}

// follow signals when the cloud has recorded a change of a machine or a volume, as the kind says.
func (a *Agent) follow(ctx context.Context, kind string, changed chan<- struct{}) {
	query := cloud.LedgerQuery{Kind: kind}
	for ctx.Err() == nil {
		for entry, err := range a.options.Cloud.FollowLedger(ctx, query) {
			if err != nil {
				break
			}
			query.After = entry.Seq
			select {
			case changed <- struct{}{}:
			default: // somebody will look anyway
			}
		}
		select {
		case <-ctx.Done():
		case <-a.options.Clock.After(time.Second):
		}
	}
}

// look compares the machines with what is known and says when to look again.
func (a *Agent) look(ctx context.Context) (time.Duration, error) {
	machines, err := a.options.Cloud.Machines().List(ctx, cloud.Filter{})
	if err != nil {
		return time.Second, fmt.Errorf("list the machines: %w", err)
	}
	next := resync
	listed, byShoot := map[string]bool{}, map[string]map[string]*machine{}
	var errs []error
	for i := range machines {
		m := &machines[i]
		listed[m.ID] = true
		if m.State == cloud.MachinePending {
			next = min(next, max(m.BootedAt.Sub(a.options.Clock.Now()), 10*time.Millisecond))
		}
		booted, err := a.boot(ctx, m)
		if err != nil {
			errs = append(errs, err)
		}
		if booted == nil {
			continue
		}
		if byShoot[booted.data.Shoot] == nil {
			byShoot[booted.data.Shoot] = map[string]*machine{}
		}
		byShoot[booted.data.Shoot][m.ID] = booted
	}
	errs = append(errs, a.bury(listed))
	for _, ended := range a.assign(ctx, byShoot) {
		<-ended.done // or the next kwok of this shoot would meet the last one
	}
	err = errors.Join(append(errs, a.attachVolumes(ctx))...)
	if err != nil {
		next = min(next, time.Second)
	}
	return next, err
}

// attachVolumes of the cloud to the machines whose pods run. No machine gets a volume while pods run on the one that
// had it before.
func (a *Agent) attachVolumes(ctx context.Context) error {
	if len(a.options.Real.Networks) == 0 {
		return nil
	}
	all, err := a.options.Cloud.Volumes().List(ctx, cloud.Filter{})
	if err != nil {
		return fmt.Errorf("list the volumes: %w", err)
	}
	disks := map[string]string{}
	for id, m := range a.known {
		if m.isReal() {
			disks[id] = filepath.Join(a.options.RootDir, id)
		}
	}
	err = a.keepBack(all, a.runs)
	return errors.Join(err, a.options.Real.Volumes().Attach(all, disks))
}

// keepBack leaves a volume with the machine that had it before, if that is gone and pods still run on it.
func (a *Agent) keepBack(all []cloud.Volume, runs func(machine string) bool) error {
	var errs []error
	had := map[string]string{}
	for i := range all {
		v := &all[i]
		before := a.had[v.ID]
		moved := before != "" && v.MachineID != "" && before != v.MachineID
		if moved && a.known[before] == nil && runs(before) {
			errs = append(errs, fmt.Errorf("attach volume %q: pods still run on machine %q, which had it", v.ID, before))
			v.MachineID = before
		}
		had[v.ID] = cmp.Or(v.MachineID, before)
	}
	a.had = had
	return errors.Join(errs...)
}

// runs says whether pods run on a machine.
func (a *Agent) runs(machine string) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, s := range a.shoots {
		if s.real != nil && s.real.Runs(machine) {
			return true
		}
	}
	return false
}

// boot is the machine with its user data, or nil when it is no node: still in its first boot, or not made to be one.
func (a *Agent) boot(ctx context.Context, m *cloud.Machine) (*machine, error) {
	if before := a.known[m.ID]; before != nil {
		a.known[m.ID] = &machine{Machine: *m, data: before.data}
		return a.known[m.ID], nil
	}
	if m.State != cloud.MachineRunning || a.refusal(m.ID) != "" {
		return nil, nil
	}
	whole, err := a.options.Cloud.Machines().Get(ctx, m.ID)
	if err != nil {
		return nil, fmt.Errorf("read the user data of machine %q: %w", m.ID, err)
	}
	data, err := userdata.Find([]byte(whole.UserData))
	if err != nil {
		a.refuse(m.ID, err)
		return nil, nil
	}
	booted := &machine{Machine: *m, data: data}
	if err := booted.layOut(a.options.RootDir, whole.UserData); err != nil {
		return nil, err
	}
	a.known[m.ID] = booted
	return booted, nil
}

func (a *Agent) refusal(id string) string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.refused[id]
}

func (a *Agent) refuse(id string, err error) {
	a.options.Log.Info("Machine cannot become a node", "machine", id, "error", err.Error())
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.refused[id] = err.Error()
}

// bury forgets machines that are gone.
func (a *Agent) bury(listed map[string]bool) error {
	var errs []error
	for id := range a.known {
		if !listed[id] {
			delete(a.known, id)
			errs = append(errs, wipe(a.options.RootDir, id))
		}
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for id := range a.refused {
		if !listed[id] {
			delete(a.refused, id)
		}
	}
	return errors.Join(errs...)
}

// assign gives every shoot its machines, and starts and ends the care for shoots. It returns those that are ending.
func (a *Agent) assign(ctx context.Context, byShoot map[string]map[string]*machine) (ended []*runningShoot) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for name, machines := range byShoot {
		running, there := a.shoots[name]
		if there {
			running.set(machines)
		} else {
			a.shoots[name] = a.start(ctx, name, machines)
		}
	}
	for name, running := range a.shoots {
		if byShoot[name] == nil {
			// Without machines nobody sends heartbeats; the Nodes are for others to delete.
			running.end()
			delete(a.shoots, name)
			ended = append(ended, running)
		}
	}
	return ended
}

func (a *Agent) start(ctx context.Context, name string, machines map[string]*machine) *runningShoot {
	k := &kwok{binary: a.options.Kwok, folder: filepath.Join(a.options.RootDir, "shoots", name),
		seconds: a.options.LeaseSeconds, runner: a.runner}
	ctx, end := context.WithCancel(ctx)
	running := &runningShoot{shoot: newShoot(name, a.options, k), end: end, done: make(chan struct{})}
	running.set(machines)
	go func() {
		defer close(running.done)
		running.run(ctx)
	}()
	return running
}
