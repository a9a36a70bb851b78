//go:build docker

package e2e

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/switchboard"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
	"github.com/transplant-sim/transplant/e2e/knocktest"
)

// at a port of a host.
func at(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// shown is a certificate of the shoot, from its Secret on the seed.
func (p *podAttack) shown(t *testing.T, secret string) *knocktest.TLS {
	t.Helper()
	found := &corev1.Secret{}
	key := client.ObjectKey{Namespace: technicalID(attackedShoot), Name: secret}
	if err := p.seed.Get(t.Context(), key, found); err != nil {
		t.Fatal(err)
	}
	return &knocktest.TLS{Certificate: found.Data[corev1.TLSCertKey], Key: found.Data[corev1.TLSPrivateKeyKey]}
}

// guarded is a request to the guard by somebody who may ask.
func (p *podAttack) guarded(t *testing.T, as access.Identity, method, path string) tried {
	t.Helper()
	return tried{method + " " + path + " of the guard as " + string(as), knocktest.Attempt{
		Address: at(p.etcd, access.GuardPort), TLS: p.shown(t, as.Secret()), Method: method, Path: path,
	}, letIn}
}

func (p *podAttack) onCloud(method, path, token string) knocktest.Attempt {
	return knocktest.Attempt{Address: p.prefix + "cloud:8443", TLS: &knocktest.TLS{}, Method: method, Path: path,
		Token: token}
}

// pathOfAPIs is open to whoever an API server knows, and to nobody else.
const pathOfAPIs = "/apis"

// controls show that a pod reaches the servers, and that these refuse for want of credentials: with the right ones they
// answer.
func (p *podAttack) controls(t *testing.T) []tried {
	t.Helper()
	observer, apiServer := p.shown(t, access.Observer.Secret()), p.shown(t, "etcd-client")
	apiServer.Protocols = []string{"h2"}
	all := []tried{
		p.guarded(t, access.Observer, http.MethodGet, validity.PathState),
		{"ask the sidecar", knocktest.Attempt{Address: at(p.etcd, access.SidecarPort), TLS: observer, Method: http.MethodGet,
			Path: "/latest"}, letIn},
		{"connect to etcd's client port", knocktest.Attempt{Address: at(p.etcd, 2379), TLS: apiServer}, letIn},
		{"connect to etcd's client port as observer", knocktest.Attempt{Address: at(p.etcd, 2379), TLS: observer},
			says("an alert", isAlert, "bad certificate")},
		{"connect to etcd's peer port", knocktest.Attempt{Address: at(p.etcd, 2380), TLS: p.shown(t, "etcd-server")}, letIn},
		{"ask the shoot's API server", knocktest.Attempt{Address: at(p.api, 6443), TLS: &knocktest.TLS{}, Method: "GET",
			Path: pathOfAPIs, Token: p.config(t, attackedShoot).BearerToken}, letIn},
		{"ask the cloud", p.onCloud("GET", "/machines/"+p.machine, tokensOfCloud(t, p.dir)["observer"].Token), letIn},
	}
	// The routes are there: an identity that may not ask is refused by its name.
	for port, routes := range apis() {
		for _, route := range routes {
			if !slices.Contains(route.Allowed, access.Observer) {
				all = append(all, tried{fmt.Sprintf("%s %s on port %d as observer", route.Method, route.Path, port),
					knocktest.Attempt{Address: at(p.etcd, port), TLS: observer, Method: route.Method, Path: route.Path},
					status(http.StatusForbidden, string(access.Observer))})
			}
		}
	}
	for cluster, address := range p.clusters() {
		config := p.config(t, cluster)
		all = append(all, tried{"ask the API server of " + cluster, knocktest.Attempt{Address: address,
			TLS: &knocktest.TLS{Certificate: config.CertData, Key: config.KeyData}, Method: "GET", Path: pathOfAPIs}, letIn})
	}
	links := 0
	for _, link := range p.state.Links {
		config, err := clientcmd.BuildConfigFromFlags("", p.dir.Kubeconfig(link.Actor, link.Target))
		if err != nil || link.Target == switchboard.Cloud || link.Target == switchboard.Shoots {
			continue // the harness's own, or no API server's
		}
		links++
		all = append(all, tried{"ask over link(" + link.Actor + "," + link.Target + ")", knocktest.Attempt{
			Address: addressOf(link.URL), TLS: &knocktest.TLS{}, Method: "GET", Path: pathOfAPIs, Token: config.BearerToken,
		}, letIn})
	}
	if links < 5 {
		t.Errorf("only %d links have an actor whose token is known", links)
	}
	return all
}

// clusters are the addresses of their API servers for pods.
func (p *podAttack) clusters() map[string]string {
	all := map[string]string{}
	for _, cluster := range p.state.Clusters {
		all[cluster.Name] = at(p.prefix+cluster.Name+"-control-plane", 6443)
	}
	return all
}

// attacks of a pod whose credentials are refused so.
func (p *podAttack) attacks(t *testing.T, r refusals) []tried {
	t.Helper()
	service := workload.ServiceEtcdClient + "." + technicalID(attackedShoot) + ".svc"
	all := servers{
		secured: map[string]string{
			"the guard's API": at(p.etcd, access.GuardPort), "the sidecar's API": at(p.etcd, access.SidecarPort),
			"etcd's client port": at(p.etcd, 2379), "etcd's peer port": at(p.etcd, 2380),
			"the guard's API by its Service":    at(service, access.GuardPort),
			"the sidecar's API by its Service":  at(service, access.SidecarPort),
			"etcd's client port by its Service": at(service, 2379),
			"etcd of the seed":                  at(p.node, 2379), "the peer port of the seed's etcd": at(p.node, 2380),
		},
		etcd: p.etcd, victim: attackedShoot, machine: p.machine, cloud: p.prefix + "cloud:8443", dns: p.prefix + "cloud:5353",
		apis: map[string]apiServer{
			"the shoot": {at(p.api, 6443), r.other}, "the seed by its Service": {"kubernetes.default.svc:443", r.here},
		},
	}
	for cluster, address := range p.clusters() {
		all.apis[cluster] = apiServer{address, r.of(cluster)}
	}
	return slices.Concat(all.unauthenticated(), p.forged(t), p.onCompanions(), p.open(), p.atGateway(r), p.onLinks(t, r),
		p.onThisMachine(t), []tried{{"list the pods of the seed's kubelet", knocktest.Attempt{Address: at(p.node, 10250),
			TLS: &knocktest.TLS{}, Method: "GET", Path: "/pods"}, r.kubelet}})
}

// forged certificates of the identities that may ask, by an authority that has the name of the shoot's.
func (p *podAttack) forged(t *testing.T) (all []tried) {
	t.Helper()
	authority, err := pki.NewAuthority("ca-etcd", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	refused := says("an alert", isAlert, "unknown certificate authority")
	for _, identity := range append(access.Clients(), access.Gardenlet, access.APIServer, access.Guard) {
		pair, err := authority.Issue(pki.Request{Name: string(identity)}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		shown := &knocktest.TLS{Forged: true}
		if shown.Certificate, shown.Key, err = pki.PEM(pair); err != nil {
			t.Fatal(err)
		}
		for port, routes := range apis() {
			for _, route := range routes {
				all = append(all, tried{fmt.Sprintf("%s %s on port %d as a forged %s", route.Method, route.Path, port, identity),
					knocktest.Attempt{Address: at(p.etcd, port), TLS: shown, Method: route.Method,
						Path: route.Path + "?epoch=1&final=true"}, refused})
			}
		}
		for _, port := range []int{2379, 2380} {
			all = append(all, tried{fmt.Sprintf("connect to port %d as a forged %s", port, identity),
				knocktest.Attempt{Address: at(p.etcd, port), TLS: shown}, refused})
		}
	}
	return all
}

// onCompanions are attacks on the cloud, and what it and the machines' process show everybody.
func (p *podAttack) onCompanions() []tried {
	all := []tried{
		{"ask whether the cloud is healthy", p.onCloud("GET", "/healthz", ""), letIn},
		{"read the metrics of the cloud", plain(p.prefix+"cloud:9100", "/metrics"), letIn},
		{"read the metrics of the machines", plain(p.prefix+"nodes:9100", "/metrics"), letIn},
		{"ask the machines' kubelets for logs", knocktest.Attempt{Address: p.prefix + "nodes:10250", TLS: &knocktest.TLS{},
			Method: "GET", Path: "/containerLogs/kube-system/coredns/coredns"},
			status(http.StatusBadRequest, `pod "coredns" has no logs`)},
	}
	for method, paths := range map[string][]string{
		"GET":  {"/machines/" + p.machine, "/machines", "/ledger", "/policies", "/fences", "/buckets", "/zones", "/faults"},
		"POST": {"/snapshot", "/networks", "/machines/" + p.machine + "/reboot"},
		"PUT":  {"/fences/" + technicalID(attackedShoot), "/policies/" + technicalID(attackedShoot), "/faults/attack"},
	} {
		for _, path := range paths {
			all = append(all, tried{method + " " + path + " of the cloud", p.onCloud(method, path, ""), unauthenticated})
		}
	}
	return all
}

// plain is a request without TLS.
func plain(address, path string) knocktest.Attempt {
	return knocktest.Attempt{Address: address, Method: http.MethodGet, Path: path}
}

// open is what pods of ours show everybody, and what they do not.
func (p *podAttack) open() (all []tried) {
	missing := status(http.StatusNotFound, "")
	for _, socket := range p.sockets {
		address := socket.String()
		switch socket.Port() {
		case 9100, 2381, 8080:
			all = append(all, tried{"read the metrics of " + address, plain(address, "/metrics"), letIn},
				tried{"profile " + address, plain(address, "/debug/pprof/"), missing},
				tried{"read the root of " + address, plain(address, "/"), missing})
		case 10443:
			all = append(all, tried{"read the root of " + address, knocktest.Attempt{Address: address,
				TLS: &knocktest.TLS{}, Method: "GET", Path: "/"}, missing})
		}
		if port := socket.Port(); port == 2381 || port == 8080 {
			all = append(all, tried{"ask for the health of " + address, plain(address, "/healthz"), letIn})
		}
	}
	return append(all, tried{"ask whether the guard is ready", plain(at(p.etcd, 2381), "/readyz"), letIn})
}

// atGateway of the seed: it leads to the shoot, where the attacker is refused, and nowhere else.
func (p *podAttack) atGateway(r refusals) (all []tried) {
	tunnel := func(service string, port int) *knocktest.Tunnel {
		to := fmt.Sprintf("outbound|%d||%s.svc.cluster.local", port, service)
		return &knocktest.Tunnel{Target: "shoot:443", Header: http.Header{"X-Gardener-Destination": {to}}}
	}
	for _, socket := range p.sockets {
		add := func(name string, refused func(error) error, through *knocktest.Tunnel, server string) {
			all = append(all, tried{name + " at " + socket.String(), knocktest.Attempt{Address: socket.String(), Tunnel: through,
				TLS: &knocktest.TLS{ServerName: server}, Method: "GET", Path: pathOfSecrets}, refused})
		}
		switch namespace := technicalID(attackedShoot); socket.Port() {
		case 9443:
			unknown := says("an alert", isAlert, "unrecognized name")
			add("go to the shoot by its name", r.other, nil, apiName(attackedShoot))
			add("go to the seed by its name", unknown, nil, "kubernetes.default.svc")
			add("go nowhere", unknown, nil, "")
		case 8443, 8132:
			missing := status(http.StatusNotFound, "")
			add("go to the shoot by a tunnel", r.other, tunnel(workload.ServiceKubeAPIServer+"."+namespace, 6443), "")
			add("go to the guard by a tunnel", says("an alert", isAlert, "certificate required"),
				tunnel(workload.ServiceEtcdClient+"."+namespace, access.GuardPort), "")
			add("go to the seed by a tunnel", missing, tunnel("kubernetes.default", 443), "")
			add("go nowhere by a tunnel", missing, &knocktest.Tunnel{Target: at(p.etcd, access.GuardPort)}, "")
		}
	}
	return all
}

// onLinks are attacks over each link of an actor.
func (p *podAttack) onLinks(t *testing.T, r refusals) (all []tried) {
	t.Helper()
	user, err := url.Parse(p.config(t, attackedShoot).Host)
	if err != nil {
		t.Fatal(err)
	}
	shoot := net.JoinHostPort(user.Hostname(), cmp.Or(user.Port(), "443"))
	for _, link := range p.state.Links {
		address := addressOf(link.URL)
		add := func(name string, refused func(error) error, attempt knocktest.Attempt) {
			attempt.Address = address
			all = append(all, tried{name + " over link(" + link.Actor + "," + link.Target + ")", attempt, refused})
		}
		switch link.Target {
		case switchboard.Cloud:
			add("delete the machine", unauthenticated, knocktest.Attempt{TLS: &knocktest.TLS{}, Method: "DELETE",
				Path: "/machines/" + p.machine})
		case switchboard.Shoots:
			read := knocktest.Attempt{TLS: &knocktest.TLS{ServerName: user.Hostname()}, Method: "GET", Path: pathOfSecrets}
			for to, refused := range map[string]func(error) error{
				shoot:                        r.other,
				at(p.etcd, access.GuardPort): status(http.StatusForbidden, "is an address"),
				"127.0.0.1:2382":             status(http.StatusForbidden, "is an address"),
				"kubernetes.default.svc:443": status(http.StatusBadGateway, "ask the DNS server"),
				"localhost:2382":             status(http.StatusBadGateway, "ask the DNS server"),
			} {
				read.Tunnel = &knocktest.Tunnel{Target: to}
				add("go to "+to, refused, read)
			}
			add("use it for another method", status(http.StatusMethodNotAllowed, "CONNECT only"),
				knocktest.Attempt{Method: "GET", Path: "/"})
		default:
			for _, method := range []string{"GET", "DELETE"} {
				add(method+" secrets", r.of(link.Target), knocktest.Attempt{TLS: &knocktest.TLS{}, Method: method,
					Path: pathOfSecrets})
			}
		}
	}
	return all
}
