package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/sim/nodes/real"
)

// reregisterAfter is for how long a Node that was there must be missing before its machine registers again, as a node
// agent does that finds its Node gone. A restore of etcd may have lost a young Node.
const reregisterAfter = 10 * time.Second

// shoot keeps the nodes of one shoot alive. Its machines are set from outside, all else belongs to its own goroutine.
type shoot struct {
	name    string
	options Options
	clock   clock.Clock
	log     logr.Logger
	kwok    *kwok
	wake    chan struct{}

	mutex    sync.Mutex
	machines map[string]*machine // by id
	status   ShootStatus

	contact    time.Time // when the API server last answered
	using      credentials
	client     kubernetes.Interface
	candidates []credentials           // of all machines, the youngest first
	missing    map[string]time.Time    // since when the Node of a machine that had one is missing
	registered map[string]bool         // machines whose Node has been seen
	renewed    map[types.UID]time.Time // when the leases of the nodes' agents were
	// the start of kwok for which the leases of the kubelets were last renewed from here
	revived  int
	agents   agentConfigs
	laidOut  map[string]string // the checksum of the configuration that is on the disk, by machine
	real     *real.Shoot       // what runs pods; nil if no machine of the shoot has addresses for them
	watchdog watchdog
}

func newShoot(name string, o Options, k *kwok) *shoot {
	return &shoot{
		name: name, options: o, clock: o.Clock, log: o.Log.WithValues("shoot", name), kwok: k, wake: make(chan struct{}, 1),
		machines: map[string]*machine{}, missing: map[string]time.Time{}, registered: map[string]bool{},
		laidOut:  map[string]string{},
		watchdog: newWatchdog(time.Duration(o.LeaseSeconds) * time.Second),
		real:     real.NewShoot(name, o.Real, k.runner, k.folder, o.Clock, o.Log.WithValues("shoot", name)),
	}
}

// set changes what machines there are.
func (s *shoot) set(machines map[string]*machine) {
	s.mutex.Lock()
	same := maps.EqualFunc(s.machines, machines, func(a, b *machine) bool { return a.Version == b.Version })
	s.machines = machines
	s.mutex.Unlock()
	if same {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// snapshot is the machines in order of their ids.
func (s *shoot) snapshot() []*machine {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.SortedFunc(maps.Values(s.machines), func(a, b *machine) int { return strings.Compare(a.ID, b.ID) })
}

// run looks after the shoot until ctx is done, and ends its kwok then. What fails is tried again, for ever: a worker
// outlives its control plane.
func (s *shoot) run(ctx context.Context) {
	defer func() {
		if err := errors.Join(s.kwok.stop(), keepReal(s, nil)); err != nil {
			s.log.Error(err, "What runs for the shoot could not be stopped")
		}
	}()
	for {
		err := s.round(ctx)
		if ctx.Err() != nil {
			return
		}
		s.report(err)
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-s.clock.After(s.options.Sync):
		}
	}
}

// round does what there is to do now.
func (s *shoot) round(ctx context.Context) error {
	machines := s.snapshot()
	if err := s.choose(machines); err != nil {
		return err
	}
	if err := keepReal(s, machines); err != nil {
		return err
	}
	nodes, err := s.listNodes(ctx)
	if err != nil {
		s.watchdog.blind()
		if apierrors.IsUnauthorized(err) {
			return errors.Join(err, s.tryOthers())
		}
		return err
	}
	if err := s.afterSilence(); err != nil {
		return err
	}
	agents, err := s.listAgents(ctx)
	if err == nil {
		s.agents = agents // what is not known anew stays as it was: no kubelet goes back
	}
	errs := []error{err, s.detach(ctx, machines, nodes)}
	on := machines
	if s.real != nil && s.real.Power() != program.PowerOn {
		on = nil
	}
	for _, m := range on {
		if err := s.ensure(ctx, m, nodes); err != nil {
			errs = append(errs, err)
		}
	}
	errs = append(errs, s.registerDrivers(ctx, on, nodes), s.renewAgents(ctx, on, nodes))
	leases, err := s.listLeases(ctx)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	if !hasReal(machines) {
		errs = append(errs, s.keepKwok(ctx, machines, nodes, leases))
	}
	s.observe(machines, nodes, leases)
	return errors.Join(errs...)
}

// keepReal keeps what runs pods on the machines: it does not wait for an API server. Without machines it ends all.
func keepReal(s *shoot, machines []*machine) error {
	if s.real == nil && hasReal(machines) {
		return fmt.Errorf("run pods on the nodes of shoot %q: no addresses are set aside for them", s.name)
	}
	if s.real == nil {
		return nil
	}
	var running []real.Machine
	for _, m := range machines {
		if m.isReal() && m.State == cloud.MachineRunning {
			running = append(running, real.Machine{ID: m.ID, Node: m.nodeName(), Address: m.PrivateIP, Boot: m.bootID(),
				Disk: filepath.Join(s.options.RootDir, m.ID), ClientCA: m.data.KubeletClientCA})
		}
	}
	kubeconfig, err := clientcmd.Write(s.using.kubeconfig())
	if err != nil {
		return fmt.Errorf("write the kubeconfig of nodes: %w", err)
	}
	return s.real.Keep(running, real.Access{Server: s.using.server, Kubeconfig: string(kubeconfig)})
}

func hasReal(machines []*machine) bool { return slices.ContainsFunc(machines, (*machine).isReal) }

// afterSilence ends a kwok that the API server has not answered for a while. The next one renews the leases at once,
// where this one might wait until its watches have come back.
func (s *shoot) afterSilence() error {
	silence := s.clock.Since(s.contact)
	first := s.contact.IsZero()
	s.contact = s.clock.Now()
	if first || silence < s.options.Sync+s.watchdog.recount || !s.kwok.running() {
		return nil
	}
	s.log.Info("API server answers again, kwok is started again", "silence", silence.Round(time.Second).String())
	return s.kwok.stop()
}

// choose takes the youngest machine's credentials when none are in use, or the server or its authorities have changed.
// A token alone is changed only when it is refused: the nodes of one pool may come with different ones.
func (s *shoot) choose(machines []*machine) error {
	s.candidates = nil
	for _, m := range slices.SortedFunc(slices.Values(machines), func(a, b *machine) int {
		return b.CreatedAt.Compare(a.CreatedAt)
	}) {
		s.candidates = append(s.candidates, credentialsOf(m, s.options))
	}
	if len(s.candidates) == 0 {
		return errors.New("the shoot has no machines")
	}
	young := s.candidates[0]
	if s.client != nil && young.server == s.using.server && young.authorities == s.using.authorities {
		return nil
	}
	return s.use(young)
}

// tryOthers takes the next credentials after those that were refused.
func (s *shoot) tryOthers() error {
	at := slices.Index(s.candidates, s.using)
	next := s.candidates[(at+1)%len(s.candidates)]
	if next == s.using {
		return nil
	}
	return s.use(next)
}

func (s *shoot) use(c credentials) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	s.using, s.client = c, client
	s.log.Info("Reach the shoot with other credentials", "server", c.server)
	return s.kwok.stop() // it is started again with these
}

// ensure registers the machine's Node if it is not there.
func (s *shoot) ensure(ctx context.Context, m *machine, nodes map[string]*corev1.Node) error {
	node, there := nodes[m.nodeName()]
	if there && node.Spec.ProviderID != m.providerID() {
		return fmt.Errorf("register machine %q: node %q belongs to %q", m.ID, node.Name, node.Spec.ProviderID)
	}
	if there {
		delete(s.missing, m.ID)
		s.registered[m.ID] = true
		return s.refresh(ctx, m, node)
	}
	if s.registered[m.ID] {
		since, known := s.missing[m.ID]
		if !known {
			s.missing[m.ID] = s.clock.Now()
			return fmt.Errorf("node %q of machine %q is missing", m.nodeName(), m.ID)
		}
		if s.clock.Since(since) < reregisterAfter {
			return fmt.Errorf("node %q of machine %q is missing since %s", m.nodeName(), m.ID,
				s.clock.Since(since).Round(time.Second))
		}
	}
	wanted, err := m.node()
	if err != nil {
		return err
	}
	checksum, err := s.apply(m, m.data.InPlace)
	if err != nil {
		return err
	}
	if checksum != "" {
		wanted.Annotations[constants.ChecksumAppliedNodeConfig] = checksum
	}
	wanted.Status.NodeInfo.KubeletVersion = cmp.Or(s.agents.kubeletVersion(m, m.data.InPlace), m.data.KubeletVersion)
	answeredAt(wanted, m.kubeletAt(s.options.Kubelet))
	created, err := s.create(ctx, wanted)
	if err != nil {
		return fmt.Errorf("register machine %q: %w", m.ID, err)
	}
	s.log.Info("Node registered", "node", created.Name, "machine", m.ID, "again", s.registered[m.ID])
	nodes[created.Name] = created
	s.registered[m.ID] = true
	delete(s.missing, m.ID)
	return nil
}
