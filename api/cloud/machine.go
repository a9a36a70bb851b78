package cloud

import (
	"context"
	"net/http"
	"time"
)

// MachineState is where a machine is in its life.
type MachineState string

// A machine boots after its creation and after a reboot; a terminated one stays readable by id and is listed no more.
const (
	MachinePending    MachineState = "pending"
	MachineRunning    MachineState = "running"
	MachineTerminated MachineState = "terminated"
)

// Machine is a virtual machine. Several may have the same name.
type Machine struct {
	Meta
	Name             string            `json:"name,omitempty"`
	Type             string            `json:"type"`
	Zone             string            `json:"zone,omitempty"`
	Image            string            `json:"image,omitempty"`
	SubnetID         string            `json:"subnetID,omitempty"`
	SecurityGroupIDs []string          `json:"securityGroupIDs,omitempty"`
	KeyPairName      string            `json:"keyPairName,omitempty"`
	Tags             map[string]string `json:"tags,omitempty"`

	// UserData is handed to the machine at its first boot; see NodeUserData. It is answered only to an admin and to
	// the process that simulates the machines, everybody else sees its digest.
	UserData       string `json:"userData,omitempty"`
	UserDataDigest string `json:"userDataDigest,omitempty"`

	// The rest is set by the cloud.
	State     MachineState `json:"state,omitempty"`
	PrivateIP string       `json:"privateIP,omitempty"`
	Hostname  string       `json:"hostname,omitempty"` // the name, or one made of the address
	Restarts  int64        `json:"restarts,omitempty"`
	BootedAt  time.Time    `json:"bootedAt,omitzero"` // when the last boot is, or was, over
}

// TagMap makes the machine findable.
func (m *Machine) TagMap() map[string]string { return m.Tags }

// ResourceName makes the machine findable.
func (m *Machine) ResourceName() string { return m.Name }

// Volume is a disk, attached to at most one machine.
type Volume struct {
	Meta
	Size      string            `json:"size"` // a Kubernetes quantity
	Type      string            `json:"type,omitempty"`
	Zone      string            `json:"zone,omitempty"`
	MachineID string            `json:"machineID,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
}

// Tags of what a shoot's own objects have asked for, and how the name of a volume begins: the UID of its claim follows.
const (
	TagFor       = "transplant.dev/for" // KIND NAMESPACE/NAME
	TagName      = "transplant.dev/name"
	VolumePrefix = "pvc-"
)

// CSIDriver is the name by which clusters know the driver of the cloud's volumes.
const CSIDriver = "csi.transplant.dev"

// TagMap makes the volume findable.
func (v *Volume) TagMap() map[string]string { return v.Tags }

// RebootMachine restarts a machine; it is pending until it has booted again, with the same address and disk.
func (c *Client) RebootMachine(ctx context.Context, id string) (*Machine, error) {
	return call[Machine](ctx, c, request{method: http.MethodPost, path: []string{KindMachines, id, "reboot"}})
}
