package e2e

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/guard"
	"github.com/transplant-sim/transplant/e2e/knocktest"
)

// tried is an attempt on one server, and what is wrong with how it ends.
type tried struct {
	name    string
	attempt knocktest.Attempt
	refused func(error) error
}

// servers are those of a landscape that want credentials.
type servers struct {
	secured    map[string]string // of which each wants a certificate of its own authority, by name
	etcd       string            // the address of the victim's pod
	apis       map[string]apiServer
	cloud, dns string
	victim     string // the shoot
	machine    string // of the victim, in the cloud
}

// apiServer is where it listens, and how it refuses whoever attacks it.
type apiServer struct {
	address string
	refused func(error) error
}

// pathOfFence ends the victim's epoch.
const pathOfFence = "/fence?epoch=1&final=true"

// openPorts are those of probes and metrics, by the ports of the APIs.
var openPorts = map[int]int{access.GuardPort: 2381, access.SidecarPort: 8080}

// apis of the victim, by their ports, and the routes of each.
func apis() map[int][]access.Route {
	return map[int][]access.Route{
		access.GuardPort: (&guard.Server{}).Routes(), access.SidecarPort: (&backup.Sidecar{}).Routes(),
	}
}

// unauthenticated is what somebody tries at the servers who has no credentials for them.
func (s servers) unauthenticated() (all []tried) {
	add := func(name string, refused func(error) error, attempt knocktest.Attempt) {
		all = append(all, tried{name, attempt, refused})
	}
	for server, address := range s.secured {
		add("connect to "+server, says("an alert", isAlert, "certificate required"), knocktest.Attempt{
			Address: address, TLS: &knocktest.TLS{}, Method: http.MethodPost, Path: pathOfFence,
		})
	}
	for port, routes := range apis() {
		for _, route := range routes {
			for at, refused := range map[int]func(error) error{
				port: withoutTLS, openPorts[port]: status(http.StatusNotFound, ""),
			} {
				add(fmt.Sprintf("%s %s on port %d without TLS", route.Method, route.Path, at), refused,
					knocktest.Attempt{
						Address: net.JoinHostPort(s.etcd, strconv.Itoa(at)), Method: route.Method,
						Path: route.Path + "?epoch=1&final=true",
					})
			}
		}
	}
	for name, api := range s.apis {
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			add(method+" the secrets of "+name, api.refused, knocktest.Attempt{
				Address: api.address, TLS: &knocktest.TLS{}, Method: method, Path: pathOfSecrets,
			})
		}
	}
	add("delete the machine", unauthenticated, knocktest.Attempt{
		Address: s.cloud, TLS: &knocktest.TLS{}, Method: http.MethodDelete, Path: "/machines/" + s.machine,
	})
	add("update the owner record by DNS", says("NOTIMP", func(error) bool { return true }, "NOTIMP"),
		knocktest.Attempt{Address: s.dns, Record: ownerName(s.victim)})
	return all
}

// pathOfSecrets of any API server.
const pathOfSecrets = "/api/v1/namespaces/default/secrets"

// unauthenticated is the cloud's word to whom it does not know.
var unauthenticated = status(http.StatusUnauthorized, string(cloud.CodeUnauthenticated))

// anonymous is an API server's word to who says nothing about himself.
var anonymous = status(http.StatusForbidden, "system:anonymous")

// status of a refusal, with a text.
func status(code int, text string) func(error) error {
	return says(strconv.Itoa(code), hasStatus(code), text)
}

// withoutTLS is how a server with TLS refuses a plain request: with 400. If it has not read all of the request, for
// example because that has a token, then it resets the connection, and the answer may be lost.
func withoutTLS(err error) error {
	if err != nil && strings.Contains(err.Error(), syscall.ECONNRESET.Error()) {
		return nil
	}
	return status(http.StatusBadRequest, "")(err)
}

// addressOf the server in a URL.
func addressOf(url string) string { return url[strings.Index(url, "//")+len("//"):] }
