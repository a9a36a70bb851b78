package backend

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/executable"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/run"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/scenario/thirdparty"
)

var (
	_ run.Host = &Embedded{}
	_ run.Host = &Kind{}

	_ run.PortSharer = &Embedded{}
)

// Hosts implements run.Host: processes have no images, and their programs run on this machine.
func (*Embedded) Hosts(ctx context.Context, e landscape.Extension) (field string, err error) {
	return eachProgram(e, func(program landscape.ExtensionContainer) error {
		if program.Binary == "" {
			return fmt.Errorf("the embedded backend runs programs, no images such as %s; give the program's binary in a file "+
				"of kind %s, or take --backend kind", program.Image, scenario.ExtensionKind)
		}
		opened, err := executable.Open(program.Binary)
		if err != nil {
			return err
		}
		return opened.CheckHere(ctx)
	})
}

// SharesPorts implements run.PortSharer.
func (*Embedded) SharesPorts() {}

// Hosts implements run.Host: there is nothing but the program in an image that is made of it.
func (*Kind) Hosts(ctx context.Context, e landscape.Extension) (field string, err error) {
	for _, program := range e.Programs() {
		if program.Binary == "" {
			if err := docker.Available(ctx); err != nil {
				return "", err
			}
		}
	}
	return eachProgram(e, func(program landscape.ExtensionContainer) error {
		if program.Binary == "" {
			return docker.CheckImage(ctx, program.Image, e.HasChart() || len(e.Command)+len(e.Args) > 0)
		}
		return docker.CheckProgram(program.Binary)
	})
}

// eachProgram checks all programs of an extension, up to the first that is not right.
func eachProgram(e landscape.Extension, check func(landscape.ExtensionContainer) error) (field string, err error) {
	for _, program := range e.Programs() {
		if err := check(program); err != nil {
			if e.HasChart() {
				err = fmt.Errorf("container %q: %w", program.Name, err)
			}
			return program.Field, err
		}
	}
	return "", nil
}

// Extensions are those that a landscape is brought up with.
type Extensions struct {
	thirdparty.Flag
	Warnings io.Writer // takes what of the files has no effect, when they are checked. Never nil
}

// Check says what is wrong with them, on a backend and these seeds.
func (x *Extensions) Check(ctx context.Context, backend string, seeds []string) error {
	own, err := x.Parse()
	if err != nil {
		return err
	}
	x.WriteNotes(x.Warnings, own)
	if twice := landscape.OfSeeds(seeds, own...).TwoActors(); twice != "" {
		return fmt.Errorf("--extension: %q would be two actors: give a seed, or in its file the extension, another name",
			twice)
	}
	host := run.Host(&Embedded{})
	if backend == rundir.Kind {
		host = &Kind{}
	}
	return run.CheckHosted(ctx, host, own, x.Files, len(seeds))
}

// CheckFrom is an error if there are extensions: a checkpoint has none.
func (x *Extensions) CheckFrom() error {
	if len(x.Files) > 0 {
		return errors.New("--extension: a checkpoint has no third-party extensions; leave the flag out, or leave out --from")
	}
	return nil
}

// On sets an environment's extensions to those of the files.
func (x *Extensions) On(s *environment.Environment) error {
	own, err := x.Parse()
	if err != nil {
		return fmt.Errorf("read the extensions: %w", err)
	}
	s.Extensions = own
	return nil
}
