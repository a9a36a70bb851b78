package environment

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/transplant-sim/transplant/clusters/switchboard"
)

// pinTimeout bounds how long a client that keeps an address waits for a connection there.
const pinTimeout = 5 * time.Second

// PinShoot implements world.World.
func (w *World) PinShoot(ctx context.Context, shoot string) (*rest.Config, error) {
	access, err := w.access(ctx, shoot)
	if err != nil {
		return nil, err
	}
	config, err := usersAccess(shoot, access)
	if err != nil {
		return nil, err
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("read the server of shoot %q: %w", shoot, err)
	}
	address, _, err := switchboard.AskDNS(w.landscape.CloudAddresses().DNS)(ctx, server.Hostname())
	if err != nil {
		return nil, err
	}
	there := net.JoinHostPort(address, server.Port())
	config.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: pinTimeout}).DialContext(ctx, network, there)
	}
	return config, nil
}

// usersAccess is the access that a shoot's users get, by its external name if it has one.
func usersAccess(shoot string, access *corev1.Secret) (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(access.Data[keyKubeconfig])
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of shoot %q: %w", shoot, err)
	}
	return config, nil
}
