package timeline

// Outcome of a request, as its client knows it.
type Outcome string

// Outcomes of a request.
const (
	Acknowledged Outcome = "Acknowledged" // answered: it has happened
	Failed       Outcome = "Failed"       // refused, or never sent: it has not happened
	Unknown      Outcome = "Unknown"      // no usable answer: it may have happened
)

// Write is one numbered write of a load; the subject is the shoot, the actor who wrote.
type Write struct {
	Number  int     `json:"number"` // of the shoot's writes, from 1; the value that is written
	Key     string  `json:"key"`    // namespace/name of the ConfigMap
	Verb    string  `json:"verb"`   // create or patch
	Outcome Outcome `json:"outcome"`
	Sent    Moment  `json:"sent"`
	// Answered is when the answer, or the error, was there.
	Answered Moment `json:"answered"`
	// ResourceVersion and UID as answered, when acknowledged.
	ResourceVersion int64  `json:"resourceVersion,omitempty"`
	UID             string `json:"uid,omitempty"`
	Status          int    `json:"status,omitempty"` // HTTP status of a refusal by a server, not by a link
	Error           string `json:"error,omitempty"`
}

// Kind of Write.
func (Write) Kind() Kind { return "Write" }

// Read is one read of a key of the load; the subject is the shoot.
type Read struct {
	Key             string  `json:"key"`
	Outcome         Outcome `json:"outcome"`
	Sent            Moment  `json:"sent"`
	Answered        Moment  `json:"answered"`
	Number          int     `json:"number,omitempty"` // the value found; 0 when the key is absent
	ResourceVersion int64   `json:"resourceVersion,omitempty"`
	Error           string  `json:"error,omitempty"`
}

// Kind of Read.
func (Read) Kind() Kind { return "Read" }

// CachedRead is one read of what an API server has in memory, without its store, at the address that the shoot's name
// had when the load began; the subject is the shoot. Acknowledged means that there was an API server that answered,
// Unknown that nobody did in time.
type CachedRead struct {
	Outcome  Outcome `json:"outcome"`
	Sent     Moment  `json:"sent"`
	Answered Moment  `json:"answered"`
	// ResourceVersion up to which the memory was.
	ResourceVersion int64  `json:"resourceVersion,omitempty"`
	Error           string `json:"error,omitempty"`
}

// Kind of CachedRead.
func (CachedRead) Kind() Kind { return "CachedRead" }

// Reached is one attempt to reach a shoot's API server by its name over a new connection. Acknowledged means that it
// answered that it is ready; Failed that it did not answer; Unknown that it answered something else.
type Reached struct {
	Outcome  Outcome `json:"outcome"`
	Sent     Moment  `json:"sent"`
	Answered Moment  `json:"answered"`
	Error    string  `json:"error,omitempty"`
}

// Kind of Reached.
func (Reached) Kind() Kind { return "Reached" }

// VersionsSeen are the resource versions that one long-lived client has seen, in its order; the subject is the shoot,
// the actor the client.
type VersionsSeen struct {
	Resource string  `json:"resource"`
	Source   string  `json:"source"` // list or watch
	Versions []int64 `json:"versions,omitempty"`
	// Gone says that the server asked the client to start over (410 or an expired watch) before Versions.
	Gone bool `json:"gone,omitempty"`
	// Status is the HTTP status by which the server said so, when Gone.
	Status int `json:"status,omitempty"`
}

// Kind of VersionsSeen.
func (VersionsSeen) Kind() Kind { return "VersionsSeen" }

// DataSeen is everything that the load's namespace holds when the run is over; the subject is the shoot.
type DataSeen struct {
	Keys []DataKey `json:"keys"`
	// Version is the resource version of the list, a lower bound of the store's revision.
	Version int64 `json:"version"`
}

// Kind of DataSeen.
func (DataSeen) Kind() Kind { return "DataSeen" }

// DataCounted is how many ConfigMaps of the load a user's API server counts after DataSeen; the subject is the shoot.
// It is the second witness of what is there in the end.
type DataCounted struct {
	Keys int64 `json:"keys"`
}

// Kind of DataCounted.
func (DataCounted) Kind() Kind { return "DataCounted" }

// DataKey is one ConfigMap of the load.
type DataKey struct {
	Key             string `json:"key"`
	Number          int    `json:"number"`
	UID             string `json:"uid"`
	ResourceVersion int64  `json:"resourceVersion"`
}
