package observe

import (
	"context"
	"net"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/cmd/transplant/actors"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/sim/world"
)

// outsidePlane is the control plane of a shoot that runs outside any seed; nil if there is none.
func outsidePlane(dir rundir.Dir, shoot string, published *corev1.Secret) *world.ControlPlane {
	address, observer, err := actors.FindOutside(dir, shoot)
	if err != nil {
		return nil
	}
	on := func(port int) string { return net.JoinHostPort(address, strconv.Itoa(port)) }
	return &world.ControlPlane{
		Seed: constants.SeedOutside, API: apiAt(on(apiPort), published), ShootUID: publisherOf(published),
		Validity: func(ctx context.Context) (world.Validity, error) {
			client := &http.Client{Timeout: guardTimeout, Transport: access.Transport(observer.Read)}
			defer client.CloseIdleConnections()
			return askGuard(ctx, on(access.GuardPort), client)
		},
	}
}
