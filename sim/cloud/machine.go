package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/cloud/refusal"
)

// defaultSubnet is where machines without a subnet get their address.
const defaultSubnet = "10.250.0.0/16"

// firstHost leaves the lowest addresses of a subnet to the provider, as clouds do.
const firstHost = 4

func machines() kind {
	return kindOf(api.KindMachines, "m", rules[api.Machine]{
		admit: admitMachine,
		change: func(_ *view, before, after *api.Machine) error {
			tags, groups := after.Tags, after.SecurityGroupIDs
			*after = *before
			after.Tags, after.SecurityGroupIDs = tags, groups
			return nil
		},
		release: func(v *view, m *api.Machine) (*api.Machine, error) {
			if m.State == api.MachineTerminated {
				return nil, refusal.NotFound(api.KindMachines, m.ID)
			}
			left := *m
			left.State = api.MachineTerminated
			return &left, nil
		},
	})
}

func admitMachine(v *view, m *api.Machine) error {
	if m.Type == "" {
		return refusal.Invalid("A machine needs a type")
	}
	if len(m.UserData) > 1<<20 {
		return refusal.Invalid("User data is limited to 1 MiB")
	}
	for _, id := range m.SecurityGroupIDs {
		if _, err := find[api.SecurityGroup](v.state, api.KindSecurityGroups, id); err != nil {
			return err
		}
	}
	if m.KeyPairName != "" && !exists(v.state, api.KindKeyPairs, func(k *api.KeyPair) bool {
		return k.Name == m.KeyPairName
	}) {
		return refusal.NotFound(api.KindKeyPairs, m.KeyPairName)
	}
	address, err := privateIP(v, m)
	if err != nil {
		return err
	}
	m.State, m.PrivateIP, m.Hostname = api.MachinePending, address, hostname(m.Name, address)
	m.Restarts, m.BootedAt = 0, v.now.Add(v.bootDelay)
	sum := sha256.Sum256([]byte(m.UserData))
	m.UserDataDigest = "sha256:" + hex.EncodeToString(sum[:])
	return nil
}

// hostname is the machine's name where that can be a host's, else one made of its address.
func hostname(name, address string) string {
	if name != "" && len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name
	}
	return "ip-" + strings.NewReplacer(".", "-", ":", "-").Replace(address)
}

// privateIP is the lowest free address of the machine's subnet.
func privateIP(v *view, m *api.Machine) (string, error) {
	cidr := defaultSubnet
	if m.SubnetID != "" {
		subnet, err := find[api.Subnet](v.state, api.KindSubnets, m.SubnetID)
		if err != nil {
			return "", err
		}
		cidr = subnet.CIDR
	}
	prefix, err := parseCIDR(cidr)
	if err != nil {
		return "", err
	}
	taken := map[string]bool{}
	for _, row := range v.rows[api.KindMachines] {
		if other := row.(*api.Machine); other.SubnetID == m.SubnetID && other.State != api.MachineTerminated {
			taken[other.PrivateIP] = true
		}
	}
	address := prefix.Addr()
	for range firstHost {
		address = address.Next()
	}
	for ; prefix.Contains(address); address = address.Next() {
		if !taken[address.String()] && !isBroadcast(prefix, address) {
			return address.String(), nil
		}
	}
	return "", refusal.New(api.CodeDependencyViolation, "InsufficientFreeAddressesInSubnet",
		"There are not enough free addresses in subnet '%s'", m.SubnetID)
}

func isBroadcast(prefix netip.Prefix, address netip.Addr) bool {
	return address.Is4() && !prefix.Contains(address.Next())
}

// reboot is the machine as it is after a restart: booting again.
func reboot(v *view, m *api.Machine) (*api.Machine, error) {
	if m.State == api.MachineTerminated {
		return nil, refusal.New(api.CodeInvalid, "IncorrectInstanceState",
			"The machine '%s' is in state '%s' and cannot be restarted", m.ID, m.State)
	}
	again := *m
	again.Restarts++
	again.State, again.BootedAt = api.MachinePending, v.now.Add(v.bootDelay)
	return &again, nil
}

// current is the machine at this moment: a boot ends by itself, no call is recorded for it.
func current(m *api.Machine, now time.Time) *api.Machine {
	if m.State != api.MachinePending || now.Before(m.BootedAt) {
		return m
	}
	running := *m
	running.State = api.MachineRunning
	return &running
}

func volumes() kind {
	return kindOf(api.KindVolumes, "vol", rules[api.Volume]{
		admit: func(v *view, volume *api.Volume) error {
			if size, err := resource.ParseQuantity(volume.Size); err != nil || size.Sign() <= 0 {
				return refusal.Invalid("Size '%s' of a volume is invalid", volume.Size)
			}
			return checkAttachment(v, volume)
		},
		change: func(v *view, before, after *api.Volume) error {
			if after.Size != before.Size || after.Type != before.Type || after.Zone != before.Zone {
				return refusal.Invalid("Only the machine and the tags of volume '%s' can be changed", before.ID)
			}
			if before.MachineID != "" && after.MachineID != "" && after.MachineID != before.MachineID {
				return refusal.New(api.CodeDependencyViolation, "VolumeInUse",
					"The volume '%s' is attached to machine '%s'", before.ID, before.MachineID)
			}
			return checkAttachment(v, after)
		},
		release: func(v *view, volume *api.Volume) (*api.Volume, error) {
			if m, ok := v.rows[api.KindMachines][volume.MachineID].(*api.Machine); ok && m.State != api.MachineTerminated {
				return nil, refusal.New(api.CodeDependencyViolation, "VolumeInUse", "The volume '%s' is attached to machine '%s'",
					volume.ID, volume.MachineID)
			}
			return nil, nil
		},
	})
}

func checkAttachment(v *view, volume *api.Volume) error {
	if volume.MachineID == "" {
		return nil
	}
	m, err := find[api.Machine](v.state, api.KindMachines, volume.MachineID)
	if err != nil {
		return err
	}
	if m.Zone != volume.Zone {
		return refusal.Invalid("%s", fmt.Sprintf("Volume '%s' and machine '%s' are in different zones", volume.ID, m.ID))
	}
	return nil
}
