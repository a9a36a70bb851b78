// Command transplant is the whole product and its harness in one binary: the commands for people, and every actor as
// a subcommand of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	_ "time/tzdata" // hibernation schedules name time zones, which the machine need not know

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/transplant-sim/transplant/clusters/cli"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode"
	"github.com/transplant-sim/transplant/clusters/kind"
	"github.com/transplant-sim/transplant/cmd/transplant/actors"
	"github.com/transplant-sim/transplant/cmd/transplant/contract"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/backend"
	"github.com/transplant-sim/transplant/cmd/transplant/explain"
	"github.com/transplant-sim/transplant/controllers/cloudcontroller"
	"github.com/transplant-sim/transplant/controllers/etcd"
	"github.com/transplant-sim/transplant/controllers/extension"
	"github.com/transplant-sim/transplant/controllers/gateway"
	"github.com/transplant-sim/transplant/controllers/machine"
	"github.com/transplant-sim/transplant/controllers/node"
	"github.com/transplant-sim/transplant/controllers/resource"
	"github.com/transplant-sim/transplant/controllers/tokenrequestor"
	"github.com/transplant-sim/transplant/controllers/vpn"
	"github.com/transplant-sim/transplant/scenarios"
	"github.com/transplant-sim/transplant/sim/cloud"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/nodes"
	"github.com/transplant-sim/transplant/sim/run"
	"github.com/transplant-sim/transplant/sim/run/authoring"
)

// exitCoder is an error that says with what code to exit (docs/ci.md).
type exitCoder interface{ ExitCode() int }

func main() {
	log.SetLogger(klog.Background()) // else controller-runtime prints a stack trace half a minute later
	if err := newCommand().ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		if coder := exitCoder(nil); errors.As(err, &coder) {
			os.Exit(coder.ExitCode())
		}
		os.Exit(2)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "transplant",
		Short: "Test what happens to shoots when their seed is lost",
		Long: `Test what happens to shoots when their seed is lost.

It starts a garden and seeds with real API servers on this machine, moves shoots between the seeds,
breaks things on purpose, and judges each run from what was recorded.`,
		Example: `  transplant scenarios list       # what there is
  transplant run seed-loss        # a seed dies under load; the end says whether its shoot came back
  transplant report --serve       # look at the runs in a browser
  transplant up                   # a landscape that stays, for kubectl`,
		Version:       actors.Version,
		SilenceErrors: true,
		SilenceUsage:  true,

		PersistentPreRunE: checkFlags,
	}
	add := addGroups(root)
	buckets, chaosMesh := &environment.Buckets{}, &environment.ChaosMesh{}
	extensions := &backend.Extensions{Warnings: os.Stderr}
	ring := landscape.Landscape{} // without seeds, unless one is asked for
	prepared := func() (*environment.Environment, error) {
		s := environment.New(environment.ScenarioSettings)
		s.Buckets, s.ChaosMesh = buckets, chaosMesh
		s.Hosted, s.Settings.SecondSign = ring.HostedSeeds(), ring.Settings.SecondSign
		return s, extensions.On(s)
	}
	configure := cli.Configure{
		AddFlags: func(flags *pflag.FlagSet) {
			buckets.AddFlags(flags)
			chaosMesh.AddFlags(flags)
			extensions.AddFlag(flags)
		},
		Check: func(ctx context.Context, backend string, seeds []string) error {
			if i := slices.IndexFunc(seeds, landscape.IsNoSeed); i >= 0 && seeds[i] != landscape.Garden {
				return fmt.Errorf("name the seed %q: it means something else on a landscape: give the seed another name", seeds[i])
			}
			return errors.Join(buckets.Check(backend), chaosMesh.Check(backend), extensions.Check(ctx, backend, seeds))
		},
		Ring: func(members int) (seeds []string, err error) {
			ring, err = landscape.Ring(members)
			return ring.SeedNames(), err
		},
		Shoots: environment.ShootsOf,
		Embedded: func(o *embedded.Options) error {
			s, err := prepared()
			if o.From != nil {
				err = errors.Join(err, buckets.CheckFrom(), extensions.CheckFrom())
			}
			if err == nil {
				s.Configure(o)
			}
			return err
		},
		Kind: func(ctx context.Context, o *kind.Options) error {
			s, err := prepared()
			if err != nil {
				return err
			}
			return s.ConfigureKind(ctx, o)
		},
	}
	backends := map[string]run.Backend{
		"embedded": &backend.Embedded{Buckets: buckets, ChaosMesh: chaosMesh},
		"kind":     &backend.Kind{Buckets: buckets, ChaosMesh: chaosMesh},
	}
	files := scenarios.Files
	checkpoints := &cobra.Command{Use: "checkpoint", Short: "Keep landscapes with their shoots, to start them again"}
	checkpoints.AddCommand(cli.CompleteLandscape(run.NewMakeCommand(backends, files)), cli.NewSave(configure))
	add(forScenarios,
		cli.CompleteLandscape(run.NewRunCommand(backends, files)), authoring.NewScenariosCommand(files),
		authoring.NewInitCommand(files),
		run.NewValidateCommand(backends, files), run.NewPlanCommand(backends, files), authoring.NewSchemaCommand(files),
		authoring.NewChaosCommand(files),
		contract.NewCommand(builtAs, files),
	)
	add(forResults, run.NewJudgeCommand(), run.NewReportCommand(), run.NewProfileCommand(), run.NewTrendCommand(),
		run.NewMergeCommand(), newDashboards())
	add(forLandscapes, append(cli.NewCommands(configure), checkpoints,
		cli.CompleteLandscape(actors.NewRestoreControlPlane()))...)
	add(forOther, explain.NewCommand(), newVersion(), newMan())
	add(programs,
		actors.NewGardenControllerManager(), actors.NewGardenlet(),
		extension.NewCommand(), machine.NewCommand(cloudControllers), gateway.NewCommand(),
		resource.NewCommand(nodeReadiness, tokenrequestor.AddToManager), resource.NewSeedCommand(),
		etcd.NewGuardCommand(), etcd.NewBackupCommand(), vpn.NewServerCommand(), vpn.NewShootCommand(),
		ownerAlone(cloud.NewCommand()), ownerAlone(nodes.NewCommand()), processnode.NewCommand(),
	)
	return root
}

// ownerAlone has a program make its files for their owner alone, whatever mode a library asks for: there are backups
// and tokens in them.
func ownerAlone(command *cobra.Command) *cobra.Command {
	command.PreRun = func(*cobra.Command, []string) { syscall.Umask(0o077) }
	return command
}

// nodeReadiness runs beside the resource manager of a shoot.
func nodeReadiness(mgr manager.Manager, shoot *rest.Config) error {
	return (&node.Reconciler{Backoff: node.DefaultBackoff}).AddToManager(mgr, shoot)
}

// cloudControllers run beside the machine controller of a shoot.
func cloudControllers(mgr manager.Manager, shoot *rest.Config, guarded *machine.GuardedCloud) error {
	return cloudcontroller.AddToManager(mgr, shoot, cloudcontroller.Account{Cloud: guarded.Client, Owner: guarded,
		Shoot: guarded.Shoot})
}
