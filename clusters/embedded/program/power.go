package program

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
)

// NodesFolder, in a run directory, has the disks of machines and, in VolumesFolder, the volumes of the cloud.
const (
	NodesFolder   = "nodes"
	VolumesFolder = "volumes"
)

// Flags of a process node by which the nodes of a shoot are known to others.
const (
	FlagMachine = "--machine="  // the disk of its machine
	FlagPods    = "--pod-cidr=" // the addresses of its pods
)

// Power is what the machines of a shoot have whose pods run.
type Power string

// The states of the power. The machines of a shoot have the same one, those that it gets later, too.
const (
	PowerOn     Power = ""
	PowerOff    Power = "off"    // nothing runs, and nothing is started
	PowerFrozen Power = "frozen" // what runs stands still, and nothing is ended or started
)

// SwitchPower of the machines of the shoot with these addresses, whose disks are in the folder.
func SwitchPower(nodes string, shoot netip.Prefix, to Power) error {
	path := switchOf(nodes, shoot)
	var err error
	if to == PowerOn {
		if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else if err = os.MkdirAll(nodes, 0o700); err == nil {
		err = os.WriteFile(path, []byte(to), 0o600)
	}
	if err != nil {
		return fmt.Errorf("switch the power of machines: %w", err)
	}
	return nil
}

// PowerOf the machines of the shoot with these addresses.
func PowerOf(nodes string, shoot netip.Prefix) Power {
	content, _ := os.ReadFile(switchOf(nodes, shoot)) // without a file the power is on
	return Power(content)
}

func switchOf(nodes string, shoot netip.Prefix) string {
	return filepath.Join(nodes, "power-"+shoot.Addr().String())
}
