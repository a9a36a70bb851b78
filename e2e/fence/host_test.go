package fence_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/kubeconfig"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/sim/cloud"
)

const (
	domain  = "shoots.transplant.test"
	project = "garden-p"
)

// host is what is never frozen: the garden, and the cloud with its DNS.
type host struct {
	client          kubernetes.Interface
	kubeconfig      string
	cloud           *api.Client
	cloudKubeconfig string
	clock           ownership.Clock
}

func newHost(t *testing.T) *host {
	t.Helper()
	server := apiservertest.StartServer(t, apiservertest.Options{})
	h := &host{kubeconfig: server.Cluster.Kubeconfig(program.Admin)}
	var err error
	h.client, err = kubernetes.NewForConfig(server.Config)
	must(t, err)
	h.clock, err = ownership.NewBootClock()
	must(t, err)
	_, err = h.client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: project}}, metav1.CreateOptions{})
	must(t, err)
	h.startCloud(t)
	return h
}

func (h *host) startCloud(t *testing.T) {
	t.Helper()
	const token = "everything"
	dir := t.TempDir()
	tokens, err := json.Marshal(cloud.TokenFile{Tokens: []cloud.Token{{Token: token, Identity: "admin",
		Roles: []cloud.Role{cloud.RoleAdmin}}}})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "tokens"), tokens, 0o600))
	server, err := cloud.Open(t.Context(), cloud.Options{Dir: filepath.Join(dir, "cloud"),
		Tokens: filepath.Join(dir, "tokens"), Log: logr.Discard()})
	must(t, err)
	web := httptest.NewTLSServer(server.Handler())
	t.Cleanup(func() {
		web.Close()
		if err := server.Close(); err != nil {
			t.Errorf("close the cloud: %v", err)
		}
	})
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	h.cloud, err = api.New(&rest.Config{Host: web.URL, BearerToken: token,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, api.Options{})
	must(t, err)
	_, err = h.cloud.Zones().Create(t.Context(), &api.Zone{Name: domain})
	must(t, err)
	content, err := kubeconfig.Of("cloud", clientcmdapi.Cluster{Server: web.URL, CertificateAuthorityData: ca}, "admin",
		clientcmdapi.AuthInfo{Token: token})
	must(t, err)
	h.cloudKubeconfig = filepath.Join(dir, "cloud.kubeconfig")
	must(t, os.WriteFile(h.cloudKubeconfig, content, 0o600))
}

// address draws one that neither landscapes nor package apiservertest use.
func address() string { return fmt.Sprintf("127.255.%d.%d", rand.IntN(250), 1+rand.IntN(250)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
