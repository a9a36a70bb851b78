package world

import "strings"

// Ability is something that not every backend can do.
type Ability string

// Abilities.
const (
	BreakLinks     Ability = "break links"
	BreakProcesses Ability = "break processes"
	BreakPrograms  Ability = "break the programs of clusters"
	DelayRestarts  Ability = "delay restarts"
	WipeDisks      Ability = "wipe disks"
	EditObjects    Ability = "edit objects"
	BreakClusters  Ability = "break clusters"
	BreakPods      Ability = "break pods"
	BreakPodLinks  Ability = "break the links of pods"
	BreakCloud     Ability = "break the cloud"
	DamageBackups  Ability = "damage backups"
	CrashActors    Ability = "crash actors at their writes" // break links and processes
	HostSeeds      Ability = "host seeds on seeds"
	RunPods        Ability = "run pods on the nodes of shoots"
	BackUpGarden   Ability = "back up the garden"
	SpreadGarden   Ability = "spread the garden over seeds"
	RunChaosMesh   Ability = "do what only Chaos Mesh can"
)

// For is the ability with what it is needed for.
func (a Ability) For(what string) Ability { return a + ": " + Ability(what) }

// General is the ability without what it is needed for.
func (a Ability) General() Ability {
	general, _, _ := strings.Cut(string(a), ": ")
	return Ability(general)
}
