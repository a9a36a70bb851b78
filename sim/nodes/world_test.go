package nodes

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/link"
	simcloud "github.com/transplant-sim/transplant/sim/cloud"
)

// apiName is the shoot's API server as its nodes know it; nobody but the proxy can resolve it.
const apiName = "api.alpha.p.shoots.transplant.test"

// leaseSeconds is short, so that tests need not wait for a kubelet's ten seconds.
const leaseSeconds = 8

// world is a cloud, a proxy and one shoot with a real API server.
type world struct {
	t           *testing.T
	cloudConfig *rest.Config  // without a token
	cloud       *cloud.Client // of an extension
	nodes       *cloud.Client // of the nodes
	proxy       *link.Proxy
	links       *pki.Authority
	server      *apiservertest.Server
	admin       kubernetes.Interface
	runner      *process.Runner
	api         *process.Process
	roots       *x509.CertPool
	absent      atomic.Bool // the name cannot be resolved
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, roots: x509.NewCertPool(), runner: process.NewRunner()}
	t.Cleanup(func() { w.runner.Close() })
	w.startCloud()
	w.startAPIServer()
	w.startProxy()
	return w
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) startCloud() {
	tokens := filepath.Join(w.t.TempDir(), "tokens")
	w.check(os.WriteFile(tokens,
		[]byte("tokens: [{token: t-extensions, identity: extensions, roles: [admin]}, "+
			"{token: t-nodes, identity: nodes, roles: [nodes]}]"),
		0o600))
	server, err := simcloud.Open(w.t.Context(), simcloud.Options{Dir: w.t.TempDir(), Tokens: tokens, Log: testr.New(w.t)})
	w.check(err)
	listener, err := net.Listen("tcp", "127.230.2.2:0")
	w.check(err)
	web := httptest.NewUnstartedServer(server.Handler())
	web.Listener.Close()
	web.Listener, web.EnableHTTP2 = listener, true
	web.StartTLS()
	w.t.Cleanup(func() { web.CloseClientConnections(); web.Close(); server.Close() })
	w.cloudConfig = &rest.Config{Host: web.URL, TLSClientConfig: rest.TLSClientConfig{
		CAData:     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}),
		ServerName: "example.com",
	}}
	client := func(token string) *cloud.Client {
		config := rest.CopyConfig(w.cloudConfig)
		config.BearerToken = token
		c, err := cloud.New(config, cloud.Options{})
		w.check(err)
		return c
	}
	w.cloud, w.nodes = client("t-extensions"), client("t-nodes")
}

// startAPIServer gives the API server a certificate for the shoot's name.
func (w *world) startAPIServer() {
	authority, err := pki.NewAuthority("shoot", time.Now())
	w.check(err)
	pair, err := authority.Issue(pki.Request{Name: "shoot", Hosts: []string{apiName}}, time.Now())
	w.check(err)
	folder := pki.Folder(w.t.TempDir())
	w.check(folder.WriteKeyPair("shoot", pair))
	w.roots.AddCert(authority.Certificate)
	flag := "--tls-sni-cert-key=" + folder.Certificate("shoot") + "," + folder.Key("shoot") + ":" + apiName
	w.server = apiservertest.StartServer(w.t, apiservertest.Options{Flags: []string{flag}})
	w.api = w.server.APIServer
	w.admin, err = kubernetes.NewForConfig(w.server.Config)
	w.check(err)
	w.namespaceExists("kube-node-lease")
}

func (w *world) namespaceExists(name string) {
	w.eventually("namespace "+name+" exists", func() string {
		_, err := w.admin.CoreV1().Namespaces().Get(w.t.Context(), name, metav1.GetOptions{})
		return textOf(err)
	})
}

func (w *world) startProxy() {
	var err error
	w.links, err = pki.NewAuthority("links", time.Now())
	w.check(err)
	w.proxy, err = link.NewProxy(link.ProxyOptions{
		Actor: "nodes", Listen: "127.230.2.3:0", CA: w.links, Log: testr.New(w.t),
		UpstreamRoots: func(string) *x509.CertPool { return w.roots },
		Resolve: func(context.Context, string) (string, time.Duration, error) {
			if w.absent.Load() {
				return "", 0, &net.DNSError{Err: "no such host", Name: apiName, IsNotFound: true}
			}
			return w.server.Cluster.Address.String(), time.Second, nil
		},
	})
	w.check(err)
	w.t.Cleanup(func() { w.proxy.Close() })
}

func (w *world) stopAPIServer() { w.check(w.api.Kill()) }

func (w *world) startAPIServerAgain() {
	var err error
	w.api, err = w.runner.Start(w.server.APIServer.Spec())
	w.check(err)
	w.eventually("the API server is ready again", func() string {
		_, err := w.admin.CoreV1().Namespaces().Get(w.t.Context(), "default", metav1.GetOptions{})
		return textOf(err)
	})
}

func (w *world) options() Options {
	proxy, err := url.Parse(w.proxy.URL())
	w.check(err)
	return Options{
		Cloud: w.nodes, ProxyURL: proxy, ProxyCA: w.links.PEM(), Kwok: w.server.Cluster.Binary,
		LeaseSeconds: leaseSeconds, Sync: 200 * time.Millisecond, Log: testr.New(w.t),
	}
}

// agent runs `transplant nodes` in this process until the test, or the caller, ends it.
func (w *world) agent(root string) (agent *Agent, end func()) {
	options := w.options()
	options.RootDir = root
	agent = New(options)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := agent.Run(ctx); err != nil {
			w.t.Errorf("the agent ended: %v", err)
		}
	}()
	end = func() { cancel(); <-done }
	w.t.Cleanup(end)
	return agent, end
}

// userData is that of the shoot's machines.
func userData(w *world) *cloud.NodeUserData {
	return &cloud.NodeUserData{
		Shoot: "shoot--p--alpha", Server: "https://" + net.JoinHostPort(apiName, "6443"), Token: w.server.Cluster.AdminToken,
		Pool: "worker", KubeletVersion: "v1.36.3",
		Files: []cloud.File{{Path: "/etc/containerd/config.toml", Content: []byte("version = 3\n"), Permissions: 0o640},
			{Path: "/etc/password", Content: []byte("secret")}},
		Units: []cloud.Unit{{Name: "kubelet.service", Content: "[Unit]\n"}},
	}
}

func (w *world) machine(name string, change func(*cloud.NodeUserData)) *cloud.Machine {
	w.t.Helper()
	data := userData(w)
	if change != nil {
		change(data)
	}
	text, err := data.Marshal()
	w.check(err)
	// As an extension for an operating system may pack it.
	packed := "#cloud-config\nwrite_files:\n- path: /etc/transplant/node.json\n  encoding: b64\n  content: " +
		base64.StdEncoding.EncodeToString([]byte(text)) + "\n"
	m, err := w.cloud.Machines().Create(w.t.Context(), &cloud.Machine{Name: name, Type: "small", Zone: "z1",
		UserData: packed})
	w.check(err)
	return m
}

// eventually polls until nothing stands in the way any more, for a minute at most.
func (w *world) eventually(what string, obstacle func() string) {
	w.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		last := obstacle()
		if last == "" {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: not within a minute, last: %s", what, last)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
