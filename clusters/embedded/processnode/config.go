package processnode

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"time"
)

// Config has the values of a process node's flags.
type Config struct {
	Kubeconfig    string
	Name          string
	Address       netip.Addr   // of the node
	Port          uint16       // of the kubelet's API
	Pods          netip.Prefix // pods' addresses
	Services      netip.Prefix // services' addresses; invalid if others forward these
	LoadBalancers netip.Prefix // addresses for services of type LoadBalancer; invalid as Services
	RootDir       string       // keeps pods/ and volumes/
	Machine       string       // the disk of the machine whose Node others register; empty where the node is its own
	CloudVolumes  string       // DRIVER=DIR of the volumes of the cloud; empty for none
	Images        map[string]string
	ServingCert   string
	ServingKey    string
	ClientCA      string
	APIServer     string // host:port that pods get; empty for the kubeconfig's

	RestartBackoff    time.Duration // of a container that fails, doubling
	MaxRestartBackoff time.Duration
	Capacity          map[string]string // of the node, by resource
}

func (c *Config) complete() error {
	var errs []error
	for flag, value := range map[string]string{
		"kubeconfig": c.Kubeconfig, "node-name": c.Name, "root-dir": c.RootDir, "serving-cert": c.ServingCert,
		"serving-key": c.ServingKey, "client-ca": c.ClientCA,
	} {
		if value == "" {
			errs = append(errs, fmt.Errorf("flag --%s is missing", flag))
		}
	}
	if !c.Address.IsLoopback() {
		errs = append(errs, fmt.Errorf("flag --address: %q is not in 127.0.0.0/8", c.Address))
	}
	for flag, prefix := range map[string]netip.Prefix{
		"pod-cidr": c.Pods, "service-cidr": c.Services, "load-balancer-cidr": c.LoadBalancers,
	} {
		if c.Machine != "" && flag != "pod-cidr" {
			continue
		}
		if !prefix.IsValid() || !prefix.Addr().IsLoopback() {
			errs = append(errs, fmt.Errorf("flag --%s: %q is not in 127.0.0.0/8", flag, prefix))
		}
	}
	if c.Machine != "" {
		absolute, err := filepath.Abs(c.Machine)
		errs = append(errs, err)
		c.Machine = absolute
	}
	for _, path := range []*string{&c.RootDir, &c.Kubeconfig, &c.ServingCert, &c.ServingKey, &c.ClientCA} {
		absolute, err := filepath.Abs(*path)
		errs = append(errs, err)
		*path = absolute
	}
	for name, folder := range c.Images {
		absolute, err := filepath.Abs(folder)
		errs = append(errs, err)
		c.Images[name] = absolute
	}
	return errors.Join(errs...)
}

// images is the flag --image NAME=DIR.
type images map[string]string

func (i images) String() string { return "" }

func (i images) Type() string { return "NAME=DIR" }

func (i images) Set(text string) error {
	name, folder, ok := strings.Cut(text, "=")
	if !ok || name == "" || folder == "" {
		return fmt.Errorf("%q is not NAME=DIR", text)
	}
	i[name] = folder
	return nil
}
