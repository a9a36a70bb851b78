package main

import (
	_ "embed" // the table of habits
	"fmt"

	"sigs.k8s.io/yaml"
)

// habit is a mistake that the program makes on purpose, so that tests see whether it is noticed. The environment
// variable HABIT names it; habits.yaml says what it does, and which promise must notice it.
type habit string

const (
	none                   habit = ""
	deletesFromShoot       habit = "deletes-from-shoot"
	leavesSeedObject       habit = "leaves-seed-object"
	reconcilesAfterMigrate habit = "reconciles-after-migrate"
	deletesCRD             habit = "deletes-crd"
	holdsToken             habit = "state-holds-token"
	forgetsState           habit = "forgets-state"
	namesSeed              habit = "state-names-seed"
	stopsWebhook           habit = "stops-webhook"
	forgetsNetwork         habit = "forgets-network"
	tearsDown              habit = "tears-down"
	losesAuthority         habit = "loses-authority"
	finalizerFirst         habit = "finalizer-first"
)

//go:embed habits.yaml
var habitTable []byte

// habitOf a class is the one of a name; none for an empty name.
func habitOf(class, name string) (habit, error) {
	if name == "" {
		return none, nil
	}
	var table []struct {
		Habit habit  `json:"habit"`
		Class string `json:"class"`
	}
	if err := yaml.Unmarshal(habitTable, &table); err != nil {
		return none, fmt.Errorf("read habits.yaml: %w", err)
	}
	for _, row := range table {
		if row.Class == class && row.Habit == habit(name) {
			return row.Habit, nil
		}
	}
	return none, fmt.Errorf("HABIT is %q, which habits.yaml does not have for class %s", name, class)
}
