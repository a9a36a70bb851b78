package environment

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded/binary"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/kind"
	"github.com/transplant-sim/transplant/sim/run"
	"github.com/transplant-sim/transplant/sim/world"
)

var (
	_ Landscape = &kind.Landscape{}
	_ breakable = &kind.Cluster{}
)

// KindBackend makes landscapes of kind clusters for runs. The links live in the process that runs the scenario,
// everything else in containers (docs/adr/0008).
type KindBackend struct {
	NodeImage string // empty for the one that kind itself takes
	Buckets   *Buckets
	ChaosMesh *ChaosMesh
}

var (
	_ run.Backend  = &KindBackend{}
	_ run.Equipped = &KindBackend{}
)

// AddFlags implements run.Equipped.
func (b *KindBackend) AddFlags(flags *pflag.FlagSet) {
	b.Buckets.AddFlags(flags)
	b.ChaosMesh.AddFlags(flags)
	flags.StringVar(&b.NodeImage, "node-image", os.Getenv(kind.NodeImageVariable),
		"backend kind: the node image; empty for the published image of kind (default: $"+kind.NodeImageVariable+")")
}

// Available implements run.Equipped: without Docker there is nothing to run on.
func (b *KindBackend) Available(ctx context.Context) error {
	if err := errors.Join(b.Buckets.Check(rundir.Kind), b.ChaosMesh.Check(rundir.Kind)); err != nil {
		return err
	}
	return kind.Available(ctx)
}

// Can implements run.Backend. A cluster's own programs are the kubelet's, which starts them again at once, and its
// disks are behind its node. Processes in pods are harmed by signals of this machine, for which one has to be root.
func (b *KindBackend) Can(ability world.Ability) error {
	switch ability.General() {
	case world.RunChaosMesh:
		if !b.ChaosMesh.wanted() {
			return fmt.Errorf("the kind backend cannot %s, unless it is installed with --%s", ability, chaosMeshFlag)
		}
		return b.asRoot(ability) // who looks into the network of a pod
	case world.BreakLinks, world.BreakClusters, world.BreakCloud, world.DamageBackups, world.EditObjects:
		return nil
	case world.BreakProcesses, world.DelayRestarts, world.CrashActors, world.BreakPods, world.BreakPodLinks:
		return b.asRoot(ability)
	}
	return fmt.Errorf("the kind backend cannot %s", ability)
}

func (*KindBackend) asRoot(ability world.Ability) error {
	if os.Geteuid() == 0 {
		return nil
	}
	return fmt.Errorf("the kind backend cannot %s unless it is run by root, beside a Docker of this machine", ability)
}

// Claim implements run.Backend.
func (b *KindBackend) Claim(name string) (run.Claim, error) { return claimDir(name, b.start) }

func (b *KindBackend) start(ctx context.Context, c *claim, request run.Request) (world.World, error) {
	s := newEnvironment(request)
	s.Buckets, s.ChaosMesh = b.Buckets, b.ChaosMesh
	options := kind.Options{
		Name: c.dir.Name, Dir: c.dir.Path, Lock: c.lock, Seeds: request.Landscape.SeedNames(), NodeImage: b.NodeImage,
		Progress: func(subject, what string) { request.Progress(subject + ": " + what) },
	}
	if err := s.ConfigureKind(ctx, &options); err != nil {
		return nil, err
	}
	l, err := kind.Start(ctx, options)
	if err != nil {
		return nil, errors.Join(err, copyLogs(c.dir, s.named, request.Logs))
	}
	return worldOn(ctx, l, s)
}

// kubeconfigs of all clusters, by their names.
func kubeconfigs(l *kind.Landscape) map[string]string {
	files := map[string]string{}
	for _, c := range l.Clusters() {
		files[c.Name()] = c.(*kind.Cluster).Kubeconfig()
	}
	return files
}

// companionImage has what runs beside the clusters; no node gets it.
const companionImage = "transplant.dev/companions:dev"

// nobody is the user that actors run as on nodes that have users.
const nobody = 65532

// ConfigureKind completes the options of a landscape of kind clusters. The images are made of this program, and of the
// Kubernetes programs, which it builds when they are not there yet.
func (s *Environment) ConfigureKind(ctx context.Context, options *kind.Options) error {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the transplant executable: %w", err)
	}
	controlPlane, err := binary.Ensure(ctx, nil)
	if err != nil {
		return err
	}
	programs := map[string]string{}
	for _, program := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl",
		"kwok"} {
		programs[program] = controlPlane
	}
	s.User = nobody
	options.Images = []kind.Image{
		{Name: image, Programs: map[string]string{"transplant": executable}},
		{Name: kubernetesImage, Programs: programs},
	}
	own, local := s.kindImages()
	mesh, err := s.ChaosMesh.images(ctx)
	if err != nil {
		return err
	}
	options.Images, options.LocalImages = append(options.Images, own...), append(local, mesh...)
	options.CompanionImage = kind.Image{
		Name: companionImage, Programs: map[string]string{"transplant": executable, "controlplane": controlPlane},
	}
	options.Companions = func(l *kind.Landscape) ([]clusters.Companion, error) { return s.companions(l) }
	options.AfterClusters = func(ctx context.Context, l *kind.Landscape) error {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return s.ChaosMesh.install(ctx, kubeconfigs(l)) })
		group.Go(func() error { return s.setUp(ctx, l) })
		return group.Wait()
	}
	options.ShootRoots = s.published.roots
	return nil
}
