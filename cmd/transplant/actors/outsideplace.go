package actors

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"github.com/gofrs/flock"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/embedded/plainpod"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/controllers/controlplane/etcd"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/gateway"
	"github.com/transplant-sim/transplant/controllers/outside"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

// The images of the programs, which are files of this machine here.
const (
	transplantImage = "transplant"
	programsImage   = "controlplane"
)

// machine is where the programs run. done removes what they leave, but for the logs.
func (has Outside) machine(dir rundir.Dir, shoot string, log logr.Logger) (m *plainpod.Machine, done func() error,
	err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find the transplant executable: %w", err)
	}
	at, release, err := has.freeAddress(dir)
	if err != nil {
		return nil, nil, err
	}
	folder := OutsideDir(dir, shoot)
	temporary, err := newTemporary(folder)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, addressFile), []byte(at.String()), 0o600)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make the folders of the control plane: %w", err), clearOutside(folder),
			release())
	}
	runner := process.NewRunner()
	m = &plainpod.Machine{Runner: runner, Dir: folder, Logs: outsideLogs(dir, shoot), Temporary: temporary,
		Address: at, Env: program.Env(), Clock: clock.RealClock{}, Log: log,
		Command: func(image string, command []string) (string, []string, error) {
			switch image {
			case transplantImage:
				return self, command[1:], nil
			case programsImage:
				return has.ControlPlane, command, nil
			}
			return "", nil, fmt.Errorf("nobody knows the image %q here", image)
		}}
	return m, func() error { return errors.Join(runner.Close(), clearOutside(folder), release()) }, nil
}

// temporaryLink in the folder of a control plane leads to a folder with a short path, for sockets.
const temporaryLink = "temporary"

// newTemporary makes the folder of a control plane, and that one beside it.
func newTemporary(folder string) (temporary string, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	if temporary, err = os.MkdirTemp("", "transplant-outside-"); err != nil {
		return "", err
	}
	if err := os.Symlink(temporary, filepath.Join(folder, temporaryLink)); err != nil {
		return "", errors.Join(err, os.Remove(temporary))
	}
	return temporary, nil
}

// clearOutside removes the folders of a control plane, also those of a command that was killed.
func clearOutside(folder string) error {
	temporary, err := os.Readlink(filepath.Join(folder, temporaryLink))
	if err == nil {
		err = os.RemoveAll(temporary)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the temporary folder of a control plane: %w", err)
	}
	return os.RemoveAll(folder)
}

// proxyPort is where clients come in with a PROXY protocol header.
const proxyPort = 8443

// freeAddress is the first one that no other control plane outside has, until it is released.
func (has Outside) freeAddress(dir rundir.Dir) (at netip.Addr, release func() error, err error) {
	for n := 0; ; n++ {
		if at, err = has.Slot.Outside(n); err != nil {
			return at, nil, err
		}
		lock := flock.New(OutsideDir(dir, at.String()) + ".lock")
		switch free, err := lock.TryLock(); {
		case err != nil:
			return at, nil, fmt.Errorf("lock the address %s: %w", at, err)
		case free:
			return at, lock.Close, nil
		}
	}
}

// place runs pods as plain processes.
type place struct{ machine *plainpod.Machine }

var _ outside.Place = place{}

// Run implements outside.Place.
func (p place) Run(ctx context.Context, name string, spec corev1.PodSpec,
	secrets func(string) (map[string][]byte, error), claims []string) error {
	pod := plainpod.Pod{Name: name, Spec: spec, Secrets: secrets, Claims: claims}
	if name == workload.Etcd {
		pod.Beside = []string{access.Observer.Secret()}
	}
	return p.machine.Run(ctx, pod)
}

// entry is a gateway for one shoot.
type entry struct {
	at            netip.Addr
	cloud         string
	ttl, interval time.Duration
	clock         ownership.Clock
	log           logr.Logger
}

var _ outside.Entry = entry{}

// Carry implements outside.Entry.
func (e entry) Carry(ctx context.Context, hosts []string, guard etcd.Guard) error {
	on := func(port int) string { return net.JoinHostPort(e.at.String(), strconv.Itoa(port)) }
	return (&gateway.Single{
		Hosts: hosts, APIServer: on(workload.PortAPIServer), Guard: guard.URL, Credentials: guard.Credentials,
		Interval: e.interval, Listen: on(gatewayPort), ProxyListen: on(proxyPort), Clock: e.clock, Log: e.log,
	}).Run(ctx)
}

// Publish implements outside.Entry.
func (e entry) Publish(ctx context.Context, technicalID string, hosts []string, owner ownership.Record) error {
	client, err := cloud.FromKubeconfigFile(e.cloud, cloud.Options{})
	if err != nil {
		return err
	}
	ctx = cloud.WithScope(ctx, cloud.Scope{Shoot: technicalID, Epoch: owner.Epoch})
	for _, host := range hosts {
		zone, err := client.ZoneOf(ctx, host)
		if err != nil {
			return err
		}
		_, err = client.Records(zone.ID).Put(ctx, &cloud.RecordSet{Name: host, Type: cloud.RecordA,
			TTL: int64(e.ttl.Seconds()), Values: []string{e.at.String()}}, cloud.If{})
		if err != nil {
			return fmt.Errorf("put the record %q: %w", host, err)
		}
	}
	return nil
}
