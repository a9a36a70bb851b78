package cloud

// Network is a private address range.
type Network struct {
	Meta
	CIDR string            `json:"cidr"`
	Tags map[string]string `json:"tags,omitempty"`
}

// TagMap makes the network findable.
func (n *Network) TagMap() map[string]string { return n.Tags }

// Subnet is a part of a network in one zone.
type Subnet struct {
	Meta
	NetworkID string            `json:"networkID"`
	CIDR      string            `json:"cidr"`
	Zone      string            `json:"zone,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
}

// TagMap makes the subnet findable.
func (s *Subnet) TagMap() map[string]string { return s.Tags }

// Router connects a network with the outside. It carries no tag and no name: only its id finds it again.
type Router struct {
	Meta
	NetworkID  string `json:"networkID"`
	ExternalIP string `json:"externalIP,omitempty"` // set by the cloud
}

// SecurityGroup is a set of packet filter rules. It carries no tag and no name: only its id finds it again.
type SecurityGroup struct {
	Meta
	NetworkID string         `json:"networkID"`
	Rules     []SecurityRule `json:"rules,omitempty"`
}

// SecurityRule allows packets in one direction.
type SecurityRule struct {
	Direction string `json:"direction"` // ingress or egress
	Protocol  string `json:"protocol"`  // tcp, udp or all
	Ports     string `json:"ports,omitempty"`
	CIDR      string `json:"cidr,omitempty"`
}

// KeyPair is the public half of a key for logging in to machines. Its name is unique.
type KeyPair struct {
	Meta
	Name        string            `json:"name"`
	PublicKey   string            `json:"publicKey"`
	Fingerprint string            `json:"fingerprint,omitempty"` // set by the cloud
	Tags        map[string]string `json:"tags,omitempty"`
}

// TagMap makes the key pair findable.
func (k *KeyPair) TagMap() map[string]string { return k.Tags }

// ResourceName makes the key pair findable.
func (k *KeyPair) ResourceName() string { return k.Name }

// LoadBalancer is an entry point with addresses of its own: the cloud gives it one if it is made without. It is a
// record only: whoever forwards the Services of a cluster listens at these addresses, or nobody does.
type LoadBalancer struct {
	Meta
	Name      string            `json:"name,omitempty"`
	Addresses []string          `json:"addresses,omitempty"`
	Ports     []int32           `json:"ports,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
}

// TagMap makes the load balancer findable.
func (l *LoadBalancer) TagMap() map[string]string { return l.Tags }

// ResourceName makes the load balancer findable.
func (l *LoadBalancer) ResourceName() string { return l.Name }
