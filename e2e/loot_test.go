package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	clusterprogram "github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/otheruser"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/e2e/knocktest"
	simlandscape "github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// loot is what lies in the Secrets of clusters, by where: the credentials of all its actors, and of its shoots.
type loot struct {
	certificates map[string]keyPair
	tokens       map[string]string
}

// keyPair is a certificate and its key, in PEM.
type keyPair struct{ certificate, key []byte }

// clients of the administrators of garden and seeds.
func (a *attacked) clients() map[string]client.Client {
	return map[string]client.Client{simlandscape.Garden: a.garden, "a": a.a, "b": a.b}
}

func (a *attacked) loot(t *testing.T, clusters ...string) loot {
	t.Helper()
	found := loot{map[string]keyPair{}, map[string]string{}}
	for _, cluster := range clusters {
		secrets := &corev1.SecretList{}
		if err := a.clients()[cluster].List(t.Context(), secrets); err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets.Items {
			for key, content := range secret.Data {
				found.take(strings.Join([]string{cluster, secret.Namespace, secret.Name, key}, "/"), content, secret.Data)
			}
		}
	}
	if len(found.certificates) < 10 || len(found.tokens) < 10 {
		t.Fatalf("%v hold only %d certificates and %d tokens", clusters, len(found.certificates), len(found.tokens))
	}
	return found
}

// take what one key of a Secret has.
func (l loot) take(name string, content []byte, data map[string][]byte) {
	key, config := name[strings.LastIndex(name, "/")+1:], &rest.Config{}
	if stem, is := strings.CutSuffix(key, ".key"); is {
		config.CertData, config.KeyData = data[stem+".crt"], content
	} else if strings.HasSuffix(key, ".csv") {
		for line := range strings.Lines(string(content)) {
			token, user, _ := strings.Cut(strings.TrimSpace(line), ",")
			l.tokens[name+" of "+user] = token
		}
	} else if strings.Contains(strings.ToLower(key), "token") {
		config.BearerToken = string(content)
	} else if read, err := clientcmd.RESTConfigFromKubeConfig(content); err == nil {
		config = read
	}
	if config.BearerToken != "" {
		l.tokens[name] = config.BearerToken
	}
	if _, err := tls.X509KeyPair(config.CertData, config.KeyData); err == nil {
		l.certificates[name] = keyPair{config.CertData, config.KeyData}
	}
}

// secured are the servers of which each wants a certificate of its own authority.
func (a *attacked) secured() map[string]string {
	at := func(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
	servers := map[string]string{
		"the guard's API": at(a.etcd.Status.PodIP, access.GuardPort), "etcd's client port": at(a.etcd.Status.PodIP, 2379),
		"the sidecar's API": at(a.etcd.Status.PodIP, access.SidecarPort), "etcd's peer port": at(a.etcd.Status.PodIP, 2380),
	}
	for _, name := range []string{simlandscape.Garden, "b"} {
		host := a.cluster(name).Plan().Node.String()
		servers["etcd of cluster "+name] = at(host, clusterprogram.EtcdPort)
		servers["the node of cluster "+name] = at(host, clusterprogram.NodePort)
	}
	return servers
}

// withLoot tries whatever seed a holds at whatever is not seed a's.
func (a *attacked) withLoot(t *testing.T) (attacks []attack) {
	t.Helper()
	found := a.loot(t, "a")
	try := func(name string, refused func(error) error, send func(context.Context) error) {
		attacks = append(attacks, attack{name: name, send: send, refused: refused})
	}
	for name, of := range found.certificates {
		shown := &knocktest.TLS{Certificate: of.certificate, Key: of.key}
		for server, address := range a.secured() {
			attempt := knocktest.Attempt{Address: address, TLS: shown, Method: http.MethodPost, Path: pathOfFence}
			try("connect to "+server+" with "+name, says("an alert", isAlert, ""), func(context.Context) error {
				return attempt.Make().Err()
			})
		}
	}
	for cluster, config := range a.apiServers(t, simlandscape.Garden, "b") {
		asks := func(name string, as *rest.Config) {
			try("ask the API server of "+cluster+" with "+name, says("401", apierrors.IsUnauthorized, ""),
				func(ctx context.Context) error { return ask(ctx, as) })
		}
		for name, token := range found.tokens {
			as := rest.AnonymousClientConfig(config)
			as.BearerToken = token
			// The garden is attacked elsewhere with the tokens that it knows.
			if cluster != simlandscape.Garden || !strings.HasSuffix(name, "kubeconfig-garden/kubeconfig") {
				asks(name, as)
			}
		}
		for name, of := range found.certificates {
			as := rest.AnonymousClientConfig(config)
			as.CertData, as.KeyData = of.certificate, of.key
			asks(name, as)
		}
	}
	inCloud := a.cloudTokens(t)
	for name, token := range found.tokens {
		if ofCloud(token, inCloud) {
			continue // the cloud is attacked with these elsewhere
		}
		try("call the cloud with "+name, says("401", isUnauthenticated, ""), a.callsCloud(t, token))
	}
	return attacks
}

// apiServers of clusters and of the victim, each by its own address.
func (a *attacked) apiServers(t *testing.T, clusters ...string) map[string]*rest.Config {
	t.Helper()
	all := map[string]*rest.Config{}
	for _, cluster := range clusters {
		config, err := a.world.Connect(cluster)
		if err != nil {
			t.Fatal(err)
		}
		all[cluster] = config
	}
	config, err := a.world.ConnectShoot(t.Context(), victim, world.Observer)
	if err != nil {
		t.Fatal(err)
	}
	all[victim] = config
	return all
}

// cloudTokens of seed a's actors. What else seed a holds is made of them.
func (a *attacked) cloudTokens(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for _, token := range a.cloudIdentities(t) {
		if token.Seed == "a" {
			known[token.Token] = true
		}
	}
	return known
}

func isUnauthenticated(err error) bool { return cloud.CodeOf(err) == cloud.CodeUnauthenticated }

func (a *attacked) callsCloud(t *testing.T, token string) func(context.Context) error {
	t.Helper()
	config := &rest.Config{Host: "https://" + a.landscape.Slot().Cloud().String(), BearerToken: token}
	config.Insecure = true // an attacker does not mind
	c, err := cloud.New(config, cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context) error { return c.Machines().Delete(ctx, a.machine) }
}

// asOtherUser tries the machine's files and servers, without any credentials.
func (a *attacked) asOtherUser(t *testing.T) (attacks []attack) {
	t.Helper()
	all := servers{
		secured: a.secured(), etcd: a.etcd.Status.PodIP, apis: map[string]apiServer{}, victim: victim, machine: a.machine,
		cloud: a.landscape.Slot().Cloud().String(), dns: a.landscape.Slot().DNS().String(),
	}
	for cluster, config := range a.apiServers(t, simlandscape.Garden, "b") {
		all.apis[cluster] = apiServer{addressOf(config.Host), anonymous}
	}
	for _, try := range all.unauthenticated() {
		attacks = append(attacks, attack{name: try.name, refused: try.refused, send: func(context.Context) error {
			return otheruser.Do(t, func() error { return try.attempt.Make().Err() })
		}})
	}
	return append(attacks, a.files(t)...)
}

// files of the landscape, and what processes show of themselves: no file can be opened, no socket be connected to.
func (a *attacked) files(t *testing.T) (attacks []attack) {
	t.Helper()
	denied := says("no permission", func(err error) bool { return errors.Is(err, os.ErrPermission) }, "")
	try := func(path string, refused func(error) error) {
		attacks = append(attacks, attack{name: "open " + path, refused: refused, send: func(context.Context) error {
			return otheruser.Do(t, func() error { return open(path) })
		}})
	}
	a.reachable(t)
	a.walk(t, func(path, _ string) { try(path, denied) })
	programs, err := process.ProgramsBelow(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range programs {
		deniedOrEnded := func(err error) error {
			if !one.Alive() {
				return nil
			}
			return denied(err)
		}
		for _, file := range []string{"environ", "mem", "root/etc/passwd"} {
			try(fmt.Sprintf("/proc/%d/%s", one.PID, file), deniedOrEnded)
		}
	}
	return attacks
}

// reachable makes the landscape's folder one that everybody reaches: what is above it is its user's own affair.
func (a *attacked) reachable(t *testing.T) {
	t.Helper()
	for above := filepath.Dir(a.landscape.Dir().Path); len(above) > len(os.TempDir()); above = filepath.Dir(above) {
		if err := os.Chmod(above, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// open a file, or connect to a socket, in this goroutine alone.
func open(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	var opened io.Closer
	if info.Mode().Type() == fs.ModeSocket {
		opened, err = net.Dial("unix", path)
	} else {
		opened, err = os.Open(path)
	}
	if err == nil {
		err = errors.Join(opened.Close(), fmt.Errorf("opened %s", path))
	}
	return err
}

func isAlert(err error) bool {
	_, is := errors.AsType[*knocktest.AlertError](err)
	return is
}

// judged is nil for the answer to somebody who is let in.
func judged(response *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		err = &knocktest.StatusError{Code: response.StatusCode, Body: string(body)}
	}
	return err
}
