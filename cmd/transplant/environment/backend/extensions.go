package backend

import (
	"context"
	"errors"
	"fmt"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/executable"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/run"
	"github.com/transplant-sim/transplant/sim/scenario"
)

var (
	_ run.Host = &Embedded{}
	_ run.Host = &Kind{}
)

// Hosts implements run.Host: processes have no images, and their programs run on this machine.
func (*Embedded) Hosts(ctx context.Context, e landscape.Extension) (field string, err error) {
	if e.Image != "" {
		return "spec.image",
			errors.New("the embedded backend runs programs, no images; give the extension's spec.binary, or take --backend kind")
	}
	program, err := executable.Open(e.Binary)
	if err == nil {
		err = program.CheckHere(ctx)
	}
	return "spec.binary", err
}

// Hosts implements run.Host: there is nothing but the program in an image that is made of it.
func (*Kind) Hosts(ctx context.Context, e landscape.Extension) (field string, err error) {
	if e.Image != "" {
		if err := docker.Available(ctx); err != nil {
			return "", err
		}
		return "spec.image", docker.CheckImage(ctx, e.Image, len(e.Command)+len(e.Args) > 0)
	}
	return "spec.binary", docker.CheckProgram(e.Binary)
}

// Extensions are those that a landscape is brought up with.
type Extensions struct {
	scenario.ExtensionFlag
}

// Check says what is wrong with them, on a backend and these seeds.
func (x *Extensions) Check(ctx context.Context, backend string, seeds []string) error {
	own, err := x.Parse()
	if err != nil {
		return err
	}
	l := landscape.Landscape{Extensions: own}
	for _, seed := range seeds {
		l.Seeds = append(l.Seeds, landscape.Seed{Name: seed})
	}
	if twice := l.TwoActors(); twice != "" {
		return fmt.Errorf("--extension: %q would be two actors: give a seed, or in its file the extension, another name",
			twice)
	}
	host := run.Host(&Embedded{})
	if backend == rundir.Kind {
		host = &Kind{}
	}
	return run.CheckHosted(ctx, host, own, x.Files)
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
