package main

import (
	_ "embed" // the table of planted bugs
	"fmt"

	"sigs.k8s.io/yaml"
)

// bug is one that is planted in the program, so that tests see whether it is caught. The environment variable
// PLANTED_BUG names it; planted-bugs.yaml says what it does, and which promise must catch it.
type bug string

const (
	none                   bug = ""
	deletesFromShoot       bug = "deletes-from-shoot"
	leavesSeedObject       bug = "leaves-seed-object"
	reconcilesAfterMigrate bug = "reconciles-after-migrate"
	deletesCRD             bug = "deletes-crd"
	holdsToken             bug = "state-holds-token"
	forgetsAccess          bug = "forgets-access"
	forgetsState           bug = "forgets-state"
	namesSeed              bug = "state-names-seed"
	stopsWebhook           bug = "stops-webhook"
	forgetsNetwork         bug = "forgets-network"
	forgetsMachines        bug = "forgets-machines"
	tearsDown              bug = "tears-down"
	losesAuthority         bug = "loses-authority"
	finalizerFirst         bug = "finalizer-first"
)

//go:embed planted-bugs.yaml
var bugTable []byte

// bugOf a class is the one of a name; none for an empty name.
func bugOf(class, name string) (bug, error) {
	if name == "" {
		return none, nil
	}
	var table []struct {
		Bug   bug    `json:"bug"`
		Class string `json:"class"`
	}
	if err := yaml.Unmarshal(bugTable, &table); err != nil {
		return none, fmt.Errorf("read planted-bugs.yaml: %w", err)
	}
	for _, row := range table {
		if row.Class == class && row.Bug == bug(name) {
			return row.Bug, nil
		}
	}
	return none, fmt.Errorf("PLANTED_BUG is %q, which planted-bugs.yaml does not have for class %s", name, class)
}
