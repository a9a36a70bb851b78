// Package run is the commands that check, run and judge scenarios. It reads scenario files, has a backend make the
// landscape, has package engine run each scenario, and has package verdict judge each run. It shows what happens while
// it happens, and keeps the evidence in a folder.
//
// It has no logic of steps or verdicts, and knows no backend: the program that offers the command brings the backends.
package run

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/scenario/thirdparty"
	"github.com/transplant-sim/transplant/sim/world"
)

// Backend makes landscapes.
type Backend interface {
	// Can says why the backend cannot do something, or nil. It is asked before anything is started.
	Can(ability world.Ability) error
	// Claim takes a name of landscapes, so that nobody else makes any of this name until it is released. It is a
	// *TakenError where somebody has the name. It is asked before anything that an earlier run has left is written over.
	Claim(name string) (Claim, error)
}

// Claim is a name of landscapes, one after the other, that nobody else has.
type Claim interface {
	// Start makes a landscape and returns when it is ready. It must not leave anything behind when it fails or ctx
	// ends.
	Start(ctx context.Context, request Request) (world.World, error)
	// Release gives the name back, when the last landscape has ended.
	Release() error
}

// TakenError is why a name cannot be claimed: somebody has it. Err says what to do about that.
type TakenError struct{ Err error }

func (e *TakenError) Error() string { return e.Err.Error() }

// Unwrap gives Err.
func (e *TakenError) Unwrap() error { return e.Err }

// Equipped is a Backend that needs something of the machine, and may have flags of its own.
type Equipped interface {
	Backend
	// AddFlags adds the flags that say what it uses.
	AddFlags(flags *pflag.FlagSet)
	// Available says in one line what the machine lacks, or nil. It is asked before anything is written.
	Available(ctx context.Context) error
}

// Preparer is a Backend that builds programs before its first landscape, which may take minutes.
type Preparer interface {
	Backend
	// Prepare builds what is not there yet. It is asked before the clock of any run begins. Progress takes a line about
	// what is going on.
	Prepare(ctx context.Context, progress func(text string)) error
}

// Keeper is a Backend whose landscapes can be kept as checkpoints, and started again.
type Keeper interface {
	Backend
	// CheckTarget says why no checkpoint can be kept in a folder.
	CheckTarget(folder string) error
	// Keep what a landscape of this claim has left when it was stopped. Contents are given back by the checkpoint.
	Keep(ctx context.Context, of Claim, folder string, contents any) error
	// Open the checkpoint in a folder, or say why it cannot be started now.
	Open(folder string) (Checkpoint, error)
}

// Checkpoint is a landscape that was kept.
type Checkpoint interface {
	// Landscape is its name, which it has again when it is started.
	Landscape() string
	// Read what the maker has given to be kept with it.
	Read(contents any) error
}

// Host is a Backend that runs third-party extensions.
type Host interface {
	// Hosts says why an extension cannot run there, and which field of its file is to blame, or nil.
	Hosts(ctx context.Context, e landscape.Extension) (field string, err error)
}

// PortSharer is a Host whose programs share the ports of one machine.
type PortSharer interface {
	// SharesPorts does nothing.
	SharesPorts()
}

// CheckHosted says which extensions of the files cannot run on a backend with so many seeds, and why.
func CheckHosted(ctx context.Context, host Host, extensions []landscape.Extension, files []string, seeds int) error {
	var errs []error
	for i, e := range extensions {
		switch field, err := host.Hosts(ctx, e); {
		case err != nil && field == "":
			return err
		case err != nil:
			errs = append(errs, scenario.ExtensionMistake(files[i], e, field, err.Error()))
		}
	}
	if _, shares := host.(PortSharer); shares {
		errs = append(errs, thirdparty.CheckPorts(files, extensions, seeds))
	}
	return errors.Join(errs...)
}

// Request for a landscape.
type Request struct {
	// Landscape is what the scenarios need: seeds and settings. It has no shoots: the engine creates them.
	Landscape landscape.Landscape
	// RandomSeed of the run, for whatever the backend rolls.
	RandomSeed uint64
	// Logs is the folder that the logs of everything in a landscape are copied into when it does not come up. Never empty.
	Logs string
	// From is the checkpoint to start, which the backend has opened; nil for a new landscape.
	From Checkpoint
	// ToKeep is whether a checkpoint will be made of it.
	ToKeep bool
	// Progress takes a line about what is going on. Never nil.
	Progress func(text string)
}
