package real

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/util/cert"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
)

const (
	// kubeletFolder is where the kubelet of a machine keeps what it has: credentials, pods, volumes.
	kubeletFolder = "/var/lib/kubelet"
	// KubeletPort is that of kubelets.
	KubeletPort = 10250
	// podBits is the length of the range of addresses that the pods of one node have.
	podBits = 24
)

// kubelet is the process that runs the pods of one machine.
type kubelet struct {
	boot    string // of the machine, when it was started
	pods    int    // which range its pods have
	process *process.Process
}

// kubelets are those of the machines of one shoot.
type kubelets struct {
	options Options
	plan    address.Cluster
	runner  *process.Runner
	shoot   string
	logs    string
	running map[string]*kubelet // by machine
	started sync.Map            // the last process of each machine
}

func (k *kubelets) keep(machines []Machine, access Access) error {
	var errs []error
	for id, running := range k.running {
		at := slices.IndexFunc(machines, func(m Machine) bool { return m.ID == id })
		if at >= 0 && running.boot == machines[at].Boot && running.process.Running() {
			continue
		}
		errs = append(errs, running.process.Kill())
		if at < 0 {
			delete(k.running, id) // else its pods have the same addresses again
		}
	}
	for _, m := range machines {
		before := k.running[m.ID]
		if before != nil && before.process.Running() {
			continue
		}
		started, err := k.start(m, before, access)
		if err != nil {
			errs = append(errs, fmt.Errorf("start the kubelet of machine %q: %w", m.ID, err))
			continue
		}
		k.running[m.ID] = started
	}
	return errors.Join(errs...)
}

func (k *kubelets) stop() error {
	var errs []error
	for id, running := range k.running {
		errs = append(errs, running.process.Kill())
		delete(k.running, id)
	}
	return errors.Join(errs...)
}

func (k *kubelets) start(m Machine, before *kubelet, access Access) (*kubelet, error) {
	own, err := netip.ParseAddr(m.Address)
	if err != nil || !k.plan.Machines.Contains(own) {
		return nil, fmt.Errorf("its address %q is not in %s", m.Address, k.plan.Machines)
	}
	next := &kubelet{boot: m.Boot}
	if before != nil {
		next.pods = before.pods
	} else if next.pods, err = k.free(); err != nil {
		return nil, err
	}
	if err := layOut(m, access); err != nil {
		return nil, err
	}
	folder := filepath.Join(m.Disk, kubeletFolder)
	args := []string{
		"processnode",
		program.FlagMachine + m.Disk,
		"--cloud-volumes=" + cloud.CSIDriver + "=" + string(k.options.Volumes()),
		"--root-dir=" + folder,
		"--kubeconfig=" + filepath.Join(folder, kubeconfig),
		"--node-name=" + m.Node,
		"--address=" + m.Address,
		fmt.Sprintf("--port=%d", KubeletPort),
		program.FlagPods + nthRange(k.plan.Pods, next.pods).String(),
		"--serving-cert=" + filepath.Join(folder, servingCert),
		"--serving-key=" + filepath.Join(folder, servingKey),
		"--client-ca=" + filepath.Join(folder, clientCA),
		"--api-server=" + apiServerIn(k.plan).String(),
	}
	for _, image := range k.options.Images {
		args = append(args, "--image="+image)
	}
	next.process, err = k.runner.Start(process.Spec{
		Name: k.shoot + "/" + m.Node, Path: k.options.Executable, Args: args, Env: program.Env(), Dir: folder,
		Log: filepath.Join(k.logs, m.ID+".log"),
	})
	if err == nil {
		k.started.Store(m.ID, next.process)
	}
	return next, err
}

// free is the first range for pods that no kubelet has.
func (k *kubelets) free() (int, error) {
	for n := range 1 << (podBits - k.plan.Pods.Bits()) {
		taken := false
		for _, other := range k.running {
			taken = taken || other.pods == n
		}
		if !taken {
			return n, nil
		}
	}
	return 0, fmt.Errorf("all ranges for pods in %s are taken", k.plan.Pods)
}

// nthRange of podBits in a range.
func nthRange(of netip.Prefix, n int) netip.Prefix {
	bytes := of.Masked().Addr().As4()
	bytes[2] += byte(n)
	return netip.PrefixFrom(netip.AddrFrom4(bytes), podBits)
}

// Files of the kubelet, below its folder.
const (
	kubeconfig  = "kubeconfig"
	servingCert = "pki/kubelet.crt"
	servingKey  = "pki/kubelet.key"
	clientCA    = "ca.crt"
)

// layOut writes what the kubelet joins with: the identity that the machine has booted with. Its certificate is
// self-signed: API servers without --kubelet-certificate-authority trust every one.
func layOut(m Machine, access Access) error {
	folder := filepath.Join(m.Disk, kubeletFolder)
	files := map[string][]byte{kubeconfig: []byte(access.Kubeconfig), clientCA: m.ClientCA}
	_, err := os.Stat(filepath.Join(folder, servingKey))
	if errors.Is(err, fs.ErrNotExist) {
		files[servingCert], files[servingKey], err = cert.GenerateSelfSignedCertKey(m.Address, nil, nil)
	}
	if err != nil {
		return fmt.Errorf("make the certificate: %w", err)
	}
	for name, content := range files {
		if err := write(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, content []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(path, content, mode), os.Chmod(path, mode)) // whatever the umask
}

// standIns are the images of pods that do nothing here: those of components of each node, as one network joins all
// nodes and the programs of the harness forward their Services and register their drivers, and those by which scenarios
// see nodes.
var standIns = []string{"kube-proxy", "node-local-dns", "network", "csi-driver", "work"}

// withStandIns makes the image that these have, with one program that waits.
func withStandIns(root string, others []string) ([]string, error) {
	folder := filepath.Join(root, "images", "waiting")
	if err := write(filepath.Join(folder, "component"), []byte("#!/bin/sh\nexec sleep infinity\n"), 0o755); err != nil {
		return nil, fmt.Errorf("make the image of components that wait: %w", err)
	}
	images := slices.Clone(others)
	for _, name := range standIns {
		image := "transplant.dev/" + name + ":dev="
		if !slices.ContainsFunc(others, func(other string) bool { return strings.HasPrefix(other, image) }) {
			images = append(images, image+folder)
		}
	}
	return images, nil
}
