package run

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/story"
)

// NewRunCommand is the command `run NAME|FILE…`, with the backends that the program has, by name.
func NewRunCommand(backends map[string]Backend) *cobra.Command {
	return newRunCommand(backends, story.Patience{})
}

// newRunCommand has runs wait as patience says; the zero value takes the defaults.
func newRunCommand(backends map[string]Backend, patience story.Patience) *cobra.Command {
	r := &runner{
		clock: clock.RealClock{}, backends: backends, metrics: metrics.NewExporter(clock.RealClock{}), patience: patience,
	}
	var metricsAddress string
	var own map[string]*pflag.FlagSet // flags of backends, by their names
	command := &cobra.Command{
		Use: "run [NAME|FILE]…",
		Example: `  transplant run seed-loss planned-migration         # by name
  transplant run my/scenario.yaml                    # by path
  transplant run -l tier=smoke                       # by label
  transplant run -l tier=nightly --shard 2/5         # the second of five parts
  transplant run -l tier=core --scenarios my/folder  # of another folder`,
		Short: "Tell scenarios on a landscape and judge them",
		Long: `Tell scenarios on a landscape and judge them.

` + selectionHelp + `

With --shard 2/5 it is the second of five parts of the scenarios that are selected. Each scenario is in exactly one
part, a sweep with all of its points, and the parts have about as many runs each. Give each part the same selection and
the same --sample.

Scenarios with the same seeds and settings share one landscape, one after the other, each with fresh shoots. With --jobs N there are up
to N landscapes at once, and each story is shown when it has ended. If any file has mistakes, nothing is started or written.
Of goals and deadlines that the file's own settings put out of reach it warns, and goes on: by how much they are missed is an
answer. validate takes them for mistakes.

The evidence of a story is kept in a folder: timeline.jsonl, verdict.json, junit.xml and report.html, a page to look at; metrics.om, its samples for Prometheus; and scenario.yaml, the story by itself:
told with the same flags, which the verdict shows, it is the same again. Of one story the folder is --out,
of several each has its own in it. There is also logs, with what actors, extensions and clusters have logged, and harness.log, what the client libraries had
to say; without --out that is in out.

A scenario with a sweep is told once per crash point, each a story of its own. With --sample N it is N points of each sweep, the
same ones for the same --seed.

With --extension FILE an extension controller of your own is in every story, as an actor beside the others.

With --begin-within DURATION what has not begun by then is not told: where time is dear, give the files that matter most first.

Exit codes: 0 Passed, 1 Failed, 2 Error, 3 Inconclusive; of several the gravest.`,
		Args: r.selection.check,
		RunE: func(command *cobra.Command, arguments []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			if !command.Flags().Changed("seed") {
				r.randomSeed = rand.Uint64() >> 11 // exact in JSON readers that use floating point
			}
			r.backendFlags = toldBackend(command.Flags(), own[r.backend])
			r.out = command.OutOrStdout()
			files, err := r.selection.files(arguments)
			if err != nil {
				return untold{err}
			}
			accepted, err := r.accept(ctx, files)
			if err != nil {
				return untold{err}
			}
			if err := r.warn(r.out, accepted); err != nil {
				return untold{err}
			}
			if equipped, asks := accepted.backend.(Equipped); asks {
				if err := equipped.Available(ctx); err != nil {
					return untold{err}
				}
			}
			if err := r.claim(accepted); err != nil {
				return untold{err}
			}
			defer func() { _ = accepted.release() }() // the kernel does it, too: the program ends
			if err := logInto(cmp.Or(r.folder, "out")); err != nil {
				return untold{err}
			}
			if metricsAddress != "" {
				at, err := r.metrics.Serve(ctx, metricsAddress)
				if err != nil {
					return untold{err}
				}
				fmt.Fprintf(r.out, "metrics at http://%s/metrics\n", at)
			}
			return result(r.run(ctx, accepted))
		},
	}
	flags := command.Flags()
	flags.StringVar(&r.folder, "out", "",
		"folder for the evidence; with several stories one in it for each (default out/STORY)")
	flags.Uint64Var(&r.randomSeed, "seed", 0, "random seed of the story (default: one is rolled and printed)")
	flags.Float64Var(&r.stretch, "timeout-multiplier", 1,
		"multiplies the deadlines of steps, of what is made before the first, settleWithin and the goals for RTO and API "+
			"downtime, for slow machines")
	flags.StringVar(&r.landscape, "landscape", "",
		"name of the landscape; with several at once NAME-2 and so on are the others (default \""+defaultLandscape+
			"\", or the first of "+numbered(defaultLandscape, 1)+" and so on that is free)")
	flags.IntVar(&r.jobs, "jobs", 1, "tell stories on up to so many landscapes at once; each wants about two cores")
	flags.DurationVar(&r.beginWithin, "begin-within", 0,
		"begin no story later than this after the start; those that are left are named, and count for nothing (default: "+
			"any time)")
	flags.Var(&r.shard, "shard", "run one part of the scenarios that are selected, such as 2/5 (default: all)")
	flags.IntVar(&r.sample, "sample", 0, "tell so many points of each sweep, chosen by the random seed (default: all)")
	flags.StringVar(&r.summary, "summary", "",
		"append a summary in Markdown to this file, such as the one that $GITHUB_STEP_SUMMARY names")
	flags.StringVar(&r.history, "history", "",
		"append the numbers of each run to this file, a line of JSON each, for the command trend")
	flags.BoolVar(&r.unwatched, "unwatched", false,
		"send no probes beside the loads, to learn what watching costs; the run proves nothing and is Inconclusive")
	flags.StringVar(&metricsAddress, "metrics-address", "",
		"serve /metrics of the runs at this address, such as 127.0.0.1:9740 (default: nowhere)")
	own = r.addFlags(flags)
	flags.BoolVar(&r.keep, "keep", false, "keep the last landscape after the verdict, until interrupted")
	return command
}

// addFlags adds those by which it is decided whether files can be told: the backend, those of the backends, and
// extensions. It gives those of the backends, by their names.
func (r *runner) addFlags(flags *pflag.FlagSet) (own map[string]*pflag.FlagSet) {
	own = map[string]*pflag.FlagSet{}
	names := slices.Sorted(maps.Keys(r.backends))
	flags.StringVar(&r.backend, "backend", "embedded", "where the story is told: "+strings.Join(names, ", "))
	for _, name := range names {
		if equipped, has := r.backends[name].(Equipped); has {
			own[name] = pflag.NewFlagSet(name, pflag.ContinueOnError)
			equipped.AddFlags(own[name]) // before they are parsed: a flag's variable is set to its default
			equipped.AddFlags(flags)
		}
	}
	r.extensions.AddFlag(flags)
	r.selection.addFlags(flags)
	return own
}

// toldBackend is what a backend was told, by its own flags or by the environment that they take their defaults from.
func toldBackend(parsed, own *pflag.FlagSet) (flags []string) {
	if own == nil {
		return nil
	}
	own.VisitAll(func(f *pflag.Flag) {
		if value := parsed.Lookup(f.Name).Value.String(); value != "" {
			flags = append(flags, "--"+f.Name+"="+value)
		}
	})
	return flags
}

// folderOf a scenario's evidence.
func (r *runner) folderOf(scenario string, of int) string {
	switch {
	case of == 1 && r.folder != "":
		return r.folder
	case r.folder == "":
		return filepath.Join("out", scenario)
	}
	return filepath.Join(r.folder, scenario)
}
