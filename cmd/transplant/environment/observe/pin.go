package observe

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/clusters/switchboard"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
)

// pinTimeout bounds how long a client that keeps an address waits for a connection there.
const pinTimeout = 5 * time.Second

// PinShoot implements world.World.
func (o *Observer) PinShoot(ctx context.Context, shoot string) (*rest.Config, error) {
	access, err := o.access(ctx, shoot)
	if err != nil {
		return nil, err
	}
	config, err := environment.UsersAccess(shoot, access)
	if err != nil {
		return nil, err
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("read the server of shoot %q: %w", shoot, err)
	}
	address, _, err := switchboard.AskDNS(o.Landscape.CloudAddresses().DNS)(ctx, server.Hostname())
	if err != nil {
		return nil, err
	}
	there := net.JoinHostPort(address, server.Port())
	config.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: pinTimeout}).DialContext(ctx, network, there)
	}
	return config, nil
}
