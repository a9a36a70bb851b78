package timeline

// CostSeen is what the landscape has cost since it was started. It only grows, except that what ended without anybody
// waiting for it, as all of a cluster that is lost, is no longer counted: differences mean something.
type CostSeen struct {
	// Requests by the actor that sent them, over all of its links.
	Requests map[string]int64 `json:"requests,omitempty"`
	// Links are those over which they were sent, by actor and target.
	Links []LinkSeen `json:"links,omitempty"`
	// CPU is the processor time of all processes of the landscape, user and system. The engine and its links are not among
	// them.
	CPU Length `json:"cpu"`
	// Processes are all that run, parents before children. The first one is the engine, except on kind. Records of older
	// builds have none.
	Processes []ProcessSeen `json:"processes,omitempty"`
}

// LinkSeen is what has crossed the links of an actor to a target since they were opened. All shoots are one target.
type LinkSeen struct {
	From          string `json:"from"`
	To            string `json:"to"` // a cluster, "cloud" or "shoots"
	Requests      int64  `json:"requests"`
	BytesToServer int64  `json:"bytesToServer"` // on the wire, those of TLS included
	BytesToClient int64  `json:"bytesToClient"`
	// Errors are answers of 500 and above, requests without a whole answer, and what faults answered or broke.
	Errors int64 `json:"errors,omitempty"`
	// Faults that are at work on the link now.
	Faults int `json:"faults,omitempty"`
	// Kinds of the requests, sorted by resource and verb. Records of older builds have none.
	Kinds []RequestsSeen `json:"kinds,omitempty"`
}

// RequestsSeen counts requests with one verb for one resource.
type RequestsSeen struct {
	// Verb is that of Kubernetes; of a request for no resource, its method in lower case.
	Verb string `json:"verb"`
	// Resource is the plural with its group and subresource; discovery; or the collections of a path in the cloud.
	Resource string `json:"resource"`
	Requests int64  `json:"requests"`
}

// ProcessSeen is what a process has used since it was started.
type ProcessSeen struct {
	PID   int    `json:"pid"`
	Birth uint64 `json:"birth"` // in clock ticks since the machine was started
	// Program is its name or, of one with subcommands, the subcommand.
	Program string `json:"program"`
	Parent  int    `json:"parent"` // pid
	// CPU is processor time, user and system.
	CPU Length `json:"cpu"`
	// Ended is the same of its descendants that have ended.
	Ended Length `json:"ended,omitempty"`
	// WakeUps are how often a thread that runs began to wait for something.
	WakeUps int64 `json:"wakeUps"`
}

// Kind of CostSeen.
func (CostSeen) Kind() Kind { return "CostSeen" }
