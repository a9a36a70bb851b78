package timeline

// ActorEnded says that a container of an actor, of a third-party extension or of a shoot's control plane has ended
// while its pod was to go on. The subject is the actor, or the shoot. Nothing is judged by it: an end while a fault is
// at work on the actor or its cluster, or right after, is what the fault is for.
type ActorEnded struct {
	Who       string `json:"who"` // the actor; control-planes-<seed> for those of shoots
	Cluster   string `json:"cluster"`
	Pod       string `json:"pod"` // with its namespace
	Container string `json:"container"`
	// Extension is the name of the third-party extension, if it is one.
	Extension string `json:"extension,omitempty"`
	ExitCode  int    `json:"exitCode"`
	Signal    int    `json:"signal,omitempty"`
	// Reason and Message are what the node says of the end.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Ended is when, as the node wrote it, RFC 3339.
	Ended string `json:"ended,omitempty"`
	// Restarts of the container in this pod, as far as they are counted when the end is seen.
	Restarts int `json:"restarts"`
	// Log has the last lines that it wrote.
	Log []string `json:"log,omitempty"`
	// LogUnread is why its log could not be read.
	LogUnread string `json:"logUnread,omitempty"`
}

// Kind of ActorEnded.
func (ActorEnded) Kind() Kind { return "ActorEnded" }
