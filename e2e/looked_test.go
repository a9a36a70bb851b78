package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/sim/world"
)

// looked is what a look says: nil when all is as it should be.
type looked func(ctx context.Context) error

// again: it runs, and is not frozen.
func again(find func() ([]process.Program, error)) looked {
	return func(context.Context) error {
		found, err := find()
		if err == nil && len(found) == 0 {
			err = errors.New("it does not run")
		}
		return errors.Join(err, none(found, standsStill, "stands still"))
	}
}

// ask an API server, over a connection of its own.
func ask(ctx context.Context, config *rest.Config) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	attentive, err := world.Attentive(config)
	if err != nil {
		return err
	}
	defer attentive.CloseIdleConnections()
	c, err := client.New(config, client.Options{HTTPClient: attentive})
	if err != nil {
		return err
	}
	return c.Get(ctx, client.ObjectKey{Name: "default"}, &corev1.Namespace{})
}

func standsStill(p process.Program) bool {
	content, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
	_, rest, _ := strings.Cut(string(content), ") ")
	return strings.HasPrefix(rest, "T") || strings.HasPrefix(rest, "t")
}

func alive(p process.Program) bool { return p.Alive() }

// none of them is so.
func none(all []process.Program, so func(process.Program) bool, what string) error {
	for _, one := range all {
		if so(one) {
			return fmt.Errorf("process %d %s", one.PID, what)
		}
	}
	return nil
}

func isDead(p process.Program) bool { return !p.Alive() }

func dead(all []process.Program) looked {
	return func(context.Context) error { return none(all, alive, "lives") }
}

func frozen(all []process.Program) looked {
	return func(context.Context) error {
		return none(all, func(p process.Program) bool { return p.Alive() && !standsStill(p) }, "goes on")
	}
}

// one of those that are found now is so.
func one(find func() ([]process.Program, error), so func(process.Program) bool) looked {
	return func(context.Context) error {
		found, err := find()
		if err == nil && !slices.ContainsFunc(found, so) {
			err = fmt.Errorf("none of %d is so", len(found))
		}
		return err
	}
}

// keptDown: they are dead, and what was started in their place stands still.
func keptDown(find func() ([]process.Program, error)) func([]process.Program) looked {
	return func(all []process.Program) looked {
		return both(dead(all), func(ctx context.Context) error {
			successors, err := find()
			if err == nil && len(successors) == 0 {
				err = errors.New("nobody has started it again")
			}
			return errors.Join(err, frozen(successors)(ctx))
		})
	}
}

func not(look looked) looked {
	return func(ctx context.Context) error {
		if look(ctx) == nil {
			return errors.New("all is well")
		}
		return nil
	}
}

func both(first, second looked) looked {
	return func(ctx context.Context) error { return errors.Join(first(ctx), second(ctx)) }
}
