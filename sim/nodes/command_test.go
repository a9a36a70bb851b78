package nodes

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/sim/nodes/kubelet"
)

// runAsNodes makes the test binary the command itself, so that a test can kill it.
const runAsNodes = "TRANSPLANT_TEST_RUN_AS_NODES"

func TestMain(m *testing.M) {
	if os.Getenv(runAsNodes) != "" {
		if err := NewCommand().ExecuteContext(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// command is the process with these flags and the ones that a test of the whole needs.
func command(flags ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], flags...)
	c.Env = append(os.Environ(), runAsNodes+"=1")
	return c
}

func (w *world) cloudKubeconfig(folder string) string {
	w.t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: w.cloudConfig.Host,
		CertificateAuthorityData: w.cloudConfig.CAData, TLSServerName: w.cloudConfig.ServerName}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: "t-nodes"}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	path := filepath.Join(folder, "cloud.kubeconfig")
	w.check(clientcmd.WriteToFile(*config, path))
	return path
}

// The command as the supervisor runs it: killed, it leaves no kwok behind; ended, it ends well.
func TestCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	folder := t.TempDir()
	ca := filepath.Join(folder, "links.crt")
	w.check(os.WriteFile(ca, w.links.PEM(), 0o600))
	metrics, kubelets := freePort(w), freePort(w)
	flags := []string{
		"--cloud-kubeconfig=" + w.cloudKubeconfig(folder), "--proxy-url=" + w.proxy.URL(), "--proxy-ca=" + ca,
		"--kwok=" + w.server.Cluster.Binary,
		"--root-dir=" + filepath.Join(folder, "root"), "--metrics-bind-address=" + metrics,
		"--kubelet-bind-address=" + kubelets, "--node-lease-duration-seconds=8", "--sync-period=200ms",
	}
	w.machine("node-1", nil)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		nodes := command(flags...)
		var output strings.Builder
		nodes.Stdout, nodes.Stderr = &output, &output
		w.check(nodes.Start())
		w.uids("node-1")
		w.renewed("node-1")
		w.eventually("the metrics show the node", func() string {
			switch content, err := read("http://" + metrics + "/metrics"); {
			case err != nil:
				return err.Error()
			case !strings.Contains(content, `nodes_machines{ready="true"} 1`):
				return content
			}
			return ""
		})
		node, err := w.admin.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
		w.check(err)
		at := net.JoinHostPort(node.Status.Addresses[1].Address, fmt.Sprint(node.Status.DaemonEndpoints.KubeletEndpoint.Port))
		if kind := node.Status.Addresses[1].Type; kind != corev1.NodeHostName || at != kubelets {
			t.Errorf("the kubelet of the node is at the %s %s, want the Hostname %s", kind, at, kubelets)
		}
		connection, err := tls.Dial("tcp", kubelets, &tls.Config{InsecureSkipVerify: true})
		w.check(err)
		w.check(connection.Close())
		kwok := w.kwokBelow(nodes.Process.Pid)
		w.check(nodes.Process.Signal(signal))
		err = nodes.Wait()
		if signal == syscall.SIGTERM && err != nil {
			t.Errorf("ended with %v: %s", err, output.String())
		}
		w.eventually("kwok has ended", func() string {
			if err := syscall.Kill(kwok, 0); !errors.Is(err, syscall.ESRCH) {
				return fmt.Sprintf("process %d is there: %v", kwok, err)
			}
			return ""
		})
	}
}

// freePort is an address with a port that nobody uses.
func freePort(w *world) string {
	listener, err := net.Listen("tcp", "127.230.2.4:0")
	w.check(err)
	defer listener.Close()
	return listener.Addr().String()
}

func read(url string) (string, error) {
	answer, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	return string(content), err
}

// kwokBelow is the kwok that a process has started.
func (w *world) kwokBelow(pid int) (kwok int) {
	w.t.Helper()
	w.eventually("kwok runs", func() string {
		programs, err := process.ProgramsBelow(pid)
		w.check(err)
		for _, p := range programs {
			if slices.Contains(p.Args, "kwok") {
				kwok = p.PID
				return ""
			}
		}
		return fmt.Sprintf("it is not among %v", programs)
	})
	return kwok
}

func TestCommandRefusesToStart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	kubeconfig := filepath.Join(folder, "kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://127.230.2.9:1"}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "x"
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	good := []string{"--cloud-kubeconfig=" + kubeconfig, "--kwok=" + os.Args[0], "--root-dir=" + folder}
	for name, test := range map[string]struct{ flag, want string }{
		"no kubeconfig":     {"--cloud-kubeconfig=/nonexistent", `read the cloud's kubeconfig "/nonexistent"`},
		"no kwok":           {"--kwok=/nonexistent", "find --kwok: stat /nonexistent"},
		"no proxy's CA":     {"--proxy-ca=/nonexistent", "read --proxy-ca"},
		"not a URL":         {"--proxy-url=:", "parse --proxy-url"},
		"address not to be": {"--metrics-bind-address=192.0.2.1:80", "take the address of --metrics-bind-address"},
		"no address":        {"--kubelet-bind-address=nodes:10250", "take the address of --kubelet-bind-address"},
	} {
		output, err := command(append(good, test.flag)...).CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || !strings.Contains(string(output),
			test.want) {
			t.Errorf("%s: ended with %v: %s; want exit 1 and %q", name, err, output, test.want)
		}
	}
}

// A server of kubelets that fails ends the program with its error, and not when everything else ends.
func TestServe_KubeletsFail_EndsWithTheirError(t *testing.T) {
	t.Parallel()
	kubelets, err := kubelet.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if err := kubelets.Serve(over); err != nil { // which gives its address back
		t.Fatal(err)
	}
	f := &flags{metricsAddress: "127.0.0.1:0"}
	f.RootDir = t.TempDir()
	if f.Cloud, err = cloud.New(&rest.Config{Host: "https://127.230.2.9:1"}, cloud.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := f.serve(t.Context(), kubelets); err == nil || !strings.Contains(err.Error(),
		"serve what API servers ask kubelets") {
		t.Errorf("it ends with %v", err)
	}
}
