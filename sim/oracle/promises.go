package oracle

// Promise says in one sentence, for people who have not read the code, what an oracle of this name promises.
func Promise(name string) string { return promises[name] }

var promises = map[string]string{
	"CloudEmptied": "A shoot that is deleted leaves nothing behind in the cloud.",
	"CloudUntouched": "Moving or restoring a shoot leaves its cloud resources as they are but for its names, which " +
		"follow it, and only its owner calls the cloud.",
	"Linearizable": "Reads and writes of each key look as if each had happened at one instant.",
	"MigrationEnds": "A migration that begins ends, on the seed that was asked for, and it is still the same shoot, " +
		"with all that was set in it.",
	"NoCircle": "Seeds that are shoots host each other in no circle of fewer than three, and in none that the landscape " +
		"does not have.",
	"NoNeedlessMove": "A shoot of a silent seed stays where it is while its API answers.",
	"NoLostMachine":  "Nodes are replaced one for one: no machine of a shoot is lost, and none doubled.",
	"NoLostWrite":    "Every write that was acknowledged is in the data at the end, and nothing that nobody wrote.",
	"NoOrphans":      "Nothing of a shoot is left on a seed that it has left.",
	"NoFalseAlarm":   "No condition of a shoot is False while nothing is wrong with it.",
	"NodesPreserved": "The shoot's nodes stay the same, and none of its pods is restarted or evicted.",
	"Revisions": "No client sees a resource version go backwards, or goes on in the data of a new owner, without " +
		"being asked to start over.",
	"ShootUntouched": "Moving a shoot leaves every object in it as it is, but for what the scenario itself changes.",
	"SingleWriter":   "No two control planes of a shoot accept writes or answer in overlapping ownership.",
}
