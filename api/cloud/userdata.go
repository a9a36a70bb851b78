package cloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
)

// NodeUserData is the user data of a machine that is to become a worker node, as JSON: what an operating system
// config would make of a real one. `transplant nodes` boots machines by it.
type NodeUserData struct {
	// Shoot is the shoot's technical id, e.g. "shoot--p--alpha".
	Shoot string `json:"shoot"`
	// Server is the shoot's API server by its DNS name, e.g. "https://api.alpha.p.shoots.transplant.test:9443".
	Server string `json:"server"`
	// CAData is the PEM bundle that the API server's certificate is checked against, together with the proxy's.
	CAData []byte `json:"caData,omitempty"`
	// Token is the bearer token the node's agents use. It must allow to read and write nodes, their status, leases in
	// kube-node-lease, pods and their status, and events.
	Token string `json:"token"`

	// KubeletClientCA is the PEM bundle of the authorities for those who may use the kubelet's API: the API server. With
	// it pods of the node run; without it they are simulated.
	KubeletClientCA []byte `json:"kubeletClientCA,omitempty"`

	// NodeName is the name to register with; empty means the machine's hostname, as the machines of a pool share
	// their user data.
	NodeName string `json:"nodeName,omitempty"`
	// Pool is the worker pool, put into the label worker.gardener.cloud/pool.
	Pool           string            `json:"pool,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Annotations    map[string]string `json:"annotations,omitempty"`
	Taints         []Taint           `json:"taints,omitempty"`
	KubeletVersion string            `json:"kubeletVersion,omitempty"` // e.g. "v1.36.3"
	// AgentSecret names the Secret in the shoot's namespace kube-system with a NodeAgentConfig, by which the node is
	// changed as it runs; empty for none.
	AgentSecret string `json:"agentSecret,omitempty"`
	// InPlace stands for everything to which nodes of the pool are updated in place, as it was when the machine was
	// asked for; empty for pools whose nodes are replaced.
	InPlace string `json:"inPlace,omitempty"`
	// Capacity is the node's capacity as Kubernetes quantities; default 4 CPUs, 16Gi of memory, 110 pods.
	Capacity map[string]string `json:"capacity,omitempty"`

	// Files and Units of the operating system config. The files are kept below the machine's own folder.
	Files []File `json:"files,omitempty"`
	Units []Unit `json:"units,omitempty"`
	// Folders are there although nothing is in them yet; absolute.
	Folders []string `json:"folders,omitempty"`
}

const (
	// NodeAgentConfigKey is the key of the NodeAgentConfig, as JSON, in its Secret.
	NodeAgentConfigKey = "config.json"
	// NodeAgentRole is the value of the label gardener.cloud/role of such Secrets.
	NodeAgentRole = "operating-system-config"
)

// NodeAgentConfig is what changes on a node without another machine.
type NodeAgentConfig struct {
	// KubeletVersion is the version of the kubelet, e.g. "v1.36.4": only a patch apart from that of the user data, unless
	// InPlace is another one.
	KubeletVersion string `json:"kubeletVersion"`
	// InPlace is that of nodes that were updated to this configuration (docs/specification/versions.md#spec-4-9). A
	// node with another one changes nothing until it is ready for its update.
	InPlace string `json:"inPlace,omitempty"`
	// Image is the machine image of nodes with this InPlace, by its name in the cloud.
	Image string `json:"image,omitempty"`
	// Files are those of the operating system config of nodes that run, its units among them. What the configuration
	// before had, and this one has not, is removed.
	Files []File `json:"files,omitempty"`
}

// AnnotationInPlace is on nodes of pools that are updated in place, with the InPlace they are at.
const AnnotationInPlace = "node.transplant.dev/in-place"

// TaintCriticalComponentsNotReady is the key of the taint, with effect NoSchedule, that every worker node registers
// with, whether the user data names it or not (docs/specification/nodes-and-seeds.md#spec-7-1).
const TaintCriticalComponentsNotReady = "node.gardener.cloud/critical-components-not-ready"

// Taint keeps pods away from a node.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// File is a file on the machine.
type File struct {
	Path        string `json:"path"` // absolute
	Content     []byte `json:"content"`
	Permissions uint32 `json:"permissions,omitempty"` // default 0600
	HostName    string `json:"hostName,omitempty"`    // of the only machine that it is for; empty for all
}

// Unit is a systemd unit. It is kept, not run.
type Unit struct {
	Name    string `json:"name"`
	Content string `json:"content,omitempty"`
	Enable  *bool  `json:"enable,omitempty"`
}

// Marshal writes the document after checking it.
func (d NodeUserData) Marshal() (string, error) {
	if err := d.validate(); err != nil {
		return "", err
	}
	content, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("marshal the user data of a node of shoot %q: %w", d.Shoot, err)
	}
	return string(content), nil
}

// ParseNodeUserData reads and checks the document.
func ParseNodeUserData(content string) (*NodeUserData, error) {
	data := &NodeUserData{}
	if err := json.Unmarshal([]byte(content), data); err != nil {
		return nil, fmt.Errorf("parse the user data of a node: %w", err)
	}
	return data, data.validate()
}

func (d NodeUserData) validate() error {
	var errs []error
	if d.Shoot == "" {
		errs = append(errs, errors.New("shoot: is required"))
	}
	if d.Token == "" {
		errs = append(errs, errors.New("token: is required"))
	}
	if server, err := url.Parse(d.Server); err != nil || server.Scheme != "https" || server.Host == "" {
		errs = append(errs, fmt.Errorf("server: %q is not an https URL", d.Server))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("check the user data of a node: %w", err)
	}
	return nil
}
