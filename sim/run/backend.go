// Package run is the command that tells stories and judges them: it reads scenario files, has a backend make the
// landscape, lets package story tell each and package verdict judge each, shows what happens while it happens, and
// keeps the evidence in a folder.
//
// It holds no logic of stories or verdicts, and knows no backend: the program that offers the command brings them.
package run

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Backend makes landscapes.
type Backend interface {
	// Can says why the backend cannot do something, or nil. It is asked before anything is started.
	Can(ability world.Ability) error
	// Free says why no landscape of this name can be made now, such as that there is one already, or nil. It is asked
	// before anything that an earlier run has left is written over.
	Free(name string) error
	// Start makes a landscape and returns when it is ready. It must not leave anything behind when it fails or ctx
	// ends.
	Start(ctx context.Context, request Request) (world.World, error)
}

// Equipped is a Backend that needs something of the machine, and may have flags of its own.
type Equipped interface {
	Backend
	// AddFlags adds the flags by which it is told what to take.
	AddFlags(flags *pflag.FlagSet)
	// Available says in one line what the machine lacks, or nil. It is asked before anything is written.
	Available(ctx context.Context) error
}

// Request for a landscape.
type Request struct {
	// Name of the landscape.
	Name string
	// Landscape is what the stories need: seeds and settings. It holds no shoots, they are the engine's.
	Landscape landscape.Landscape
	// RandomSeed of the run, for whatever the backend rolls.
	RandomSeed uint64
	// Progress takes a line about what is going on. Never nil.
	Progress func(text string)
}
