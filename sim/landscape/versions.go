package landscape

// Kubernetes are the versions that the landscape's cloud profile offers, lowest first. The last is what is built and
// runs; of the others docs/adr says what they are.
func Kubernetes() []string { return []string{"1.35.6", "1.36.2", "1.36.3", "1.37.2"} }

// MachineImage is the name of the only machine image of the cloud profile.
const MachineImage = "simulated"

// Images are the versions of the machine image, lowest first. Nodes can be updated in place from each to the next.
func Images() []string { return []string{"1.0.0", "1.0.1"} }

// Latest of some versions.
func Latest(versions []string) string { return versions[len(versions)-1] }
