package wire

// Reset breaks every open connection with a TCP reset, and each new one as soon as it is accepted, until it is healed.
type Reset struct{}

var _ Fault = Reset{}

// Name is "Reset".
func (Reset) Name() string { return "Reset" }

// Validate finds nothing wrong.
func (Reset) Validate() error { return nil }

// Start begins the fault on one link.
func (Reset) Start(Dice) Effect { return Effect{Resets: true} }
