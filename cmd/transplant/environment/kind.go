package environment

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded/binary"
	"github.com/transplant-sim/transplant/clusters/kind"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
	"github.com/transplant-sim/transplant/sim/landscape"
)

var _ Landscape = &kind.Landscape{}

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
	options.Images = []docker.Image{
		{Name: image, Programs: map[string]string{"transplant": executable}},
		{Name: kubernetesImage, Programs: programs},
	}
	own, local := s.kindImages()
	mesh, err := s.ChaosMesh.images(ctx)
	if err != nil {
		return err
	}
	options.Images, options.LocalImages = append(options.Images, own...), append(local, mesh...)
	options.CompanionImage = docker.Image{
		Name: companionImage, Programs: map[string]string{"transplant": executable, "controlplane": controlPlane},
	}
	options.Companions = func(l *kind.Landscape) ([]clusters.Companion, error) { return s.companions(l) }
	options.AfterClusters = func(ctx context.Context, l *kind.Landscape) error {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return s.ChaosMesh.install(ctx, kubeconfigs(l)) })
		group.Go(func() error { return s.watched(ctx, l, append([]string{landscape.Garden}, Seeds(l)...), s.bringUp) })
		return group.Wait()
	}
	options.ShootRoots = s.published.roots
	return nil
}
