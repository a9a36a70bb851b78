package timeline

// CostSeen is what the landscape has cost since it was started. It only grows, except that what ended without anybody
// waiting for it, as all of a cluster that is lost, is no longer counted: differences mean something.
type CostSeen struct {
	// Requests by the actor that sent them, over all of its links.
	Requests map[string]int64 `json:"requests,omitempty"`
	// CPU is the processor time of all processes of the landscape, user and system. The engine and its links are not among
	// them.
	CPU Length `json:"cpu"`
}

// Kind of CostSeen.
func (CostSeen) Kind() Kind { return "CostSeen" }
