package access

import "net/http"

// Identity is the common name of a client certificate.
type Identity string

// The identities of the table in the package's comment.
const (
	APIServer         Identity = "etcd-client"
	Guard             Identity = "etcd-main"
	Gardenlet         Identity = "gardenlet"
	Gateway           Identity = "gateway"
	Extensions        Identity = "extensions"
	MachineController Identity = "machine-controller"
	Observer          Identity = "observer"
)

const (
	// ServerName is in the certificates of guard and sidecar, on every seed and whatever address they are reached at.
	ServerName = "etcd-main-client"
	// GuardPort and SidecarPort are those of the APIs.
	GuardPort   = 2382
	SidecarPort = 8081
)

// Holders live on the validity that a guard grants.
func Holders() []Identity { return []Identity{Extensions, Gateway, MachineController} }

// Clients have a certificate in a Secret of their own.
func Clients() []Identity { return append(Holders(), Gardenlet, Observer) }

// Secret is the name of the Secret with the certificate, one of Clients', in the control-plane namespace.
func (i Identity) Secret() string { return "guard-client-" + string(i) }

// identityOf the caller, by the certificate that the handshake has verified; false without one.
func identityOf(r *http.Request) (Identity, bool) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return "", false
	}
	return Identity(r.TLS.VerifiedChains[0][0].Subject.CommonName), true
}
