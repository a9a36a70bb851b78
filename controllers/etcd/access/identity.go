package access

import "crypto/tls"

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

// Clients have a certificate in a Secret of their own. The gardenlet, which signs them all, has none.
func Clients() []Identity { return append(Holders(), Observer) }

// Secret is the name of the Secret with the certificate, one of Clients', in the control-plane namespace.
func (i Identity) Secret() string { return "guard-client-" + string(i) }

// identityOf the peer, by the certificate that the handshake has verified; false without one.
func identityOf(state *tls.ConnectionState) (Identity, bool) {
	if state == nil || len(state.VerifiedChains) == 0 {
		return "", false
	}
	return Identity(state.VerifiedChains[0][0].Subject.CommonName), true
}
