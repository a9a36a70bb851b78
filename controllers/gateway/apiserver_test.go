package gateway

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

const otherHost = "api.beta.p.shoots.transplant.test"

// onSeed makes what a seed has of one shoot, and starts the shoot's API server and guard at the addresses that the
// Services got, which are loopback ones. It returns what dials it through the gateway of w.
func (w *world) onSeed(seed kubernetes.Interface, namespace, hosts string) *world {
	w.Helper()
	labels := map[string]string{"gardener.cloud/role": "shoot"}
	if _, err := seed.CoreV1().Namespaces().Create(w.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: labels}},
		metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	create := func(name string, port int32, hosts string) string {
		made, err := seed.CoreV1().Services(namespace).Create(w.Context(), service(namespace, name, "", port, hosts),
			metav1.CreateOptions{})
		if err != nil {
			w.Fatal(err)
		}
		return made.Spec.ClusterIP
	}
	shoot := &world{T: w.T, address: w.address, table: w.table}
	shoot.guard = startGuard(w.T, create("etcd-main-client", 2379, ""))
	if _, err := seed.CoreV1().Secrets(namespace).Create(w.Context(), shoot.guard.credentials(namespace),
		metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	// The route is there with this one, at the latest: the guard has to answer before.
	shoot.apiAddress = create("kube-apiserver", 6443, hosts)
	shoot.api = startAPIServer(w.T, shoot.apiAddress, echo)
	return shoot
}

// TestRoutesOnARealAPIServer: routes follow what a gateway watches on a real API server, and what guards say.
func TestRoutesOnARealAPIServer(t *testing.T) {
	t.Parallel()
	config := apiservertest.Start(t, apiservertest.Options{})
	seed, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, address: address()}
	alpha := w.onSeed(seed, "shoot--p--alpha", host)
	w.run(seed)
	alpha.table = w.table
	if w.table.byHost(host) == nil {
		t.Fatal("the gateway listens before it knows what was there before it")
	}
	w.leads(host, "shoot--p--alpha", 1)
	first := alpha.mustDial(host)
	alpha.says(first, "there before the gateway")

	beta := w.onSeed(seed, "shoot--p--beta", otherHost)
	w.leads(otherHost, "shoot--p--beta", 1)
	second := beta.mustDial(otherHost)
	beta.says(second, "new")

	patch := func(object, content string) {
		t.Helper()
		var err error
		if object == "namespace" {
			_, err = seed.CoreV1().Namespaces().Patch(t.Context(), "shoot--p--beta", types.MergePatchType, []byte(content),
				metav1.PatchOptions{})
		} else {
			_, err = seed.CoreV1().Services("shoot--p--alpha").Patch(t.Context(), object, types.MergePatchType, []byte(content),
				metav1.PatchOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// The shoot gets another name: what is open under the old one is cut, what the change does not concern goes on.
	patch("kube-apiserver", `{"metadata":{"annotations":{"networking.transplant.dev/sni-hosts":"`+otherHost+`"}}}`)
	alpha.isCut(first)
	w.refuses(host)
	w.leads(otherHost, "shoot--p--alpha", 1) // of two that want a name the first has it
	alpha.says(alpha.mustDial(otherHost), "by another name")
	beta.says(second, "still open")
	patch("kube-apiserver", `{"metadata":{"annotations":{"networking.transplant.dev/sni-hosts":"`+host+`"}}}`)
	w.leads(otherHost, "shoot--p--beta", 1)
	w.leads(host, "shoot--p--alpha", 1)
	first = alpha.mustDial(host)
	alpha.says(first, "as before")

	alpha.guard.set(validity.Serving, 2, time.Hour)
	alpha.isCut(first)
	w.leads(host, "shoot--p--alpha", 2)
	first = alpha.mustDial(host)
	alpha.says(first, "epoch 2")
	beta.says(second, "another's epoch")

	patch("namespace", `{"metadata":{"labels":{"gardener.cloud/role":null}}}`)
	beta.isCut(second)
	w.refuses(otherHost)
	if err := seed.CoreV1().Services("shoot--p--alpha").Delete(t.Context(), "etcd-main-client",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	alpha.isCut(first)
	w.refuses(host)
	if valid, lapsed := w.table.count(true), w.table.count(false); valid != 0 || lapsed != 0 {
		t.Errorf("%d valid routes and %d lapsed are left", valid, lapsed)
	}
}

// TestEveryGatewayOfASeedLeadsToItsShoots: where a seed has gateways of its zones or of exposure classes beside its
// own, a client reaches a shoot at the address of each, on every port, and at none once the seed's ownership is fenced
// (docs/specification/nodes-and-seeds.md#spec-7-4).
func TestEveryGatewayOfASeedLeadsToItsShoots(t *testing.T) {
	t.Parallel()
	seed, err := kubernetes.NewForConfig(apiservertest.Start(t, apiservertest.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	own := &world{T: t, address: address()}
	alpha := own.onSeed(seed, "shoot--p--alpha", host)
	gateways := []*world{own, {T: t, address: address()}, {T: t, address: address()}}
	var open []*tls.Conn
	for i, w := range gateways {
		w.guard, w.api, w.apiAddress = alpha.guard, alpha.api, alpha.apiAddress
		w.run(seed)
		w.leads(host, "shoot--p--alpha", 1)
		conn := w.mustDial(host)
		w.says(conn, fmt.Sprintf("by the name in the hello, gateway %d", i))
		open = append(open, conn)
		for port, header := range map[string]string{":8443": "X-Gardener-Destination", ":8132": "Reversed-VPN"} {
			status, behind := w.connects(port, header+": outbound|6443||kube-apiserver.shoot--p--alpha.svc.cluster.local\r\n")
			if status != http.StatusOK {
				t.Fatalf("gateway %d answers %d on %s", i, status, port)
			}
			w.speaks(behind)
		}
	}
	alpha.guard.set(validity.Fenced, 1, 0)
	close(alpha.guard.fenced)
	for i, w := range gateways {
		w.isCut(open[i])
		w.eventually(fmt.Sprintf("gateway %d to refuse", i), func() bool {
			_, err := w.dial(host)
			return err != nil
		})
	}
}

// leads waits until a name leads to the shoot of a namespace, valid in an epoch.
func (w *world) leads(name, namespace string, epoch int64) {
	w.Helper()
	w.eventually(name+" to lead to "+namespace, func() bool {
		r := w.table.byHost(name)
		if r == nil || r.namespace != namespace {
			return false
		}
		term := r.holder.Term()
		return term.Valid() && term.Epoch() == epoch
	})
}

// refuses expects that nobody has the name, once its connections have been cut.
func (w *world) refuses(name string) {
	w.Helper()
	foreign := &world{T: w.T, address: w.address, api: &apiServer{}}
	if _, err := foreign.dial(name); err == nil || !strings.Contains(err.Error(), "unrecognized name") {
		w.Errorf("%s is gone, but: %v", name, err)
	}
}
