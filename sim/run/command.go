package run

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
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

	"github.com/transplant-sim/transplant/sim/engine"
	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/run/selection"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// NewRunCommand is the command `run NAME|FILE…`, with the backends that the program has, by name.
func NewRunCommand(backends map[string]Backend, builtIn fs.FS) *cobra.Command {
	return newRunCommand(backends, builtIn, engine.Patience{})
}

// claimSelected selects and checks what is to be run, and claims the landscapes for it. It starts and writes nothing
// else.
func (r *runner) claimSelected(ctx context.Context, arguments []string) (*plan, error) {
	files, err := r.selection.Files(arguments)
	if err != nil {
		return nil, err
	}
	accepted, err := r.accept(ctx, files)
	if err != nil {
		return nil, err
	}
	if err := r.open(accepted); err != nil {
		return nil, err
	}
	if err := r.warn(r.progress(), accepted); err != nil {
		return nil, err
	}
	if equipped, asks := accepted.backend.(Equipped); asks {
		if err := equipped.Available(ctx); err != nil {
			return nil, err
		}
	}
	return accepted, r.claim(accepted)
}

// newRunCommand has runs wait as patience says; the zero value takes the defaults.
func newRunCommand(backends map[string]Backend, builtIn fs.FS, patience engine.Patience) *cobra.Command {
	r := &runner{
		clock: clock.RealClock{}, backends: backends, metrics: metrics.NewExporter(clock.RealClock{}), patience: patience,
		selection: selection.Scenarios{BuiltIn: builtIn},
	}
	var metricsAddress string
	var verbosity int
	var own map[string]*pflag.FlagSet // flags of backends, by their names
	command := &cobra.Command{
		Use: "run [NAME|FILE]…",
		Example: `  transplant run seed-loss planned-migration         # by name
  transplant run my/scenario.yaml                    # by path
  transplant run -l tier=smoke                       # by label
  transplant run -l tier=nightly --shard 2/5         # the second of five parts
  transplant run -l tier=core --scenarios my/folder  # of another folder`,
		Short: "Run scenarios on a landscape and judge the runs",
		Long: `Run scenarios on a landscape and judge the runs.

` + selection.Help + `

--shard 2/5 runs the second of five parts of the selected scenarios. Each scenario is in exactly one
part, a sweep with all of its points. The parts have about the same number of runs. Give each part
the same selection and the same --sample. In an Indexed Job of Kubernetes, --shard index/5 takes the
part from $JOB_COMPLETION_INDEX. The command merge makes one summary of all parts.

Scenarios with the same seeds and settings share one landscape. They run one after the other, each
with new shoots. --jobs N starts up to N landscapes at once, and prints each run when it has ended.
If any file has a mistake, nothing is started or written. If the file's own settings put a goal or a
deadline out of reach, the command warns and goes on, since the run shows by how much it is missed.
The command validate refuses such files.

Each run leaves its evidence in a folder:

  timeline.jsonl           everything that was observed
  verdict.json, junit.xml  the verdict
  report.html              a page to look at
  metrics.om               samples for Prometheus
  scenario.yaml            the complete scenario; the verdict shows the flags that repeat the run
  logs                     the logs of actors, extensions and clusters

If there is one run, its folder is --out. If there are several, each has a folder below --out.
--out also has harness.log, the messages of the client libraries. Without --out, each run has a folder
in out, and harness.log is there, too.

A scenario with a sweep runs once for each of its crash points. --sample N runs N points of each sweep,
the same ones for the same --seed.

--extension FILE adds a third-party extension controller, such as yours, to every run, as an actor
beside the others.

Exit codes: 0 Passed, 1 Failed, 2 Error, 3 Inconclusive. If there are several runs, the exit code is
that of the gravest verdict.`,
		Args: r.checkArguments,
		RunE: func(command *cobra.Command, arguments []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			if !command.Flags().Changed("seed") {
				r.randomSeed = rand.Uint64() >> 11 // exact in JSON readers that use floating point
			}
			r.backendFlags = givenBackend(command.Flags(), own[r.backend])
			r.out = command.OutOrStdout()
			accepted, err := r.claimSelected(ctx, arguments)
			if err != nil {
				return notRun{err}
			}
			defer func() { _ = accepted.release() }() // the kernel does it, too: the program ends
			if err := r.prepareBackend(ctx); err != nil {
				return notRun{err}
			}
			if err := LogInto(cmp.Or(r.folder, "out"), verbosity); err != nil {
				return notRun{err}
			}
			if metricsAddress != "" {
				at, err := r.metrics.Serve(ctx, metricsAddress)
				if err != nil {
					return notRun{err}
				}
				fmt.Fprintf(r.progress(), "metrics at http://%s/metrics\n", at)
			}
			return result(r.run(ctx, accepted))
		},
	}
	flags := command.Flags()
	flags.StringVar(&r.folder, "out", "",
		"folder for the evidence; if there are several runs, each has a folder in it (default out/SCENARIO)")
	flags.Uint64Var(&r.randomSeed, "seed", 0, "random seed of the run (default: the command chooses one and prints it)")
	flags.Float64Var(&r.stretch, "timeout-multiplier", 1,
		"for slow machines: multiplies all deadlines, settleWithin, and the goals for RTO and API downtime")
	flags.StringVar(&r.from, "from", "",
		"folder of a checkpoint; each run begins with a fresh copy of its landscape, whose shoots are ready")
	complete(command, "from", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	flags.StringVar(&r.landscape, "landscape", "",
		"name of the landscape; with --jobs the others are NAME-2, NAME-3 … (default \""+defaultLandscape+
			"\", or the first free name of "+numbered(defaultLandscape, 1)+" …)")
	flags.IntVar(&r.jobs, "jobs", 1, "number of landscapes at once; each needs about two cores")
	flags.Var(&r.shard, "shard", "run one part of the selected scenarios, such as 2/5 (default: all)")
	flags.IntVar(&r.sample, "sample", 0, "number of points of each sweep, chosen by the random seed (default: all)")
	flags.StringVar(&r.summary, "summary", "",
		"append a summary in Markdown to this file, such as $GITHUB_STEP_SUMMARY")
	flags.StringVar(&r.history, "history", "",
		"append the measures of each run to this file, as a line of JSON, for the command trend")
	r.addQuiet(command, "print only verdicts, what was violated, and errors")
	flags.IntVarP(&verbosity, "verbosity", "v", 0,
		"how much of the client libraries is in harness.log, as with kubectl; 6 has every request")
	flags.BoolVar(&r.unwatched, "unwatched", false,
		"run without probes, to measure what they cost; the run proves nothing and is Inconclusive")
	flags.StringVar(&metricsAddress, "metrics-address", "",
		"serve the metrics of the runs at this address, under /metrics, such as 127.0.0.1:9740 (default: not served)")
	own = r.addFlags(command)
	flags.BoolVar(&r.keep, "keep", false, "keep the last landscape after the verdict, until you interrupt the command")
	return command
}

// checkArguments is for cobra, before the command runs.
func (r *runner) checkArguments(command *cobra.Command, arguments []string) error {
	if err := r.selection.Check(command.Name(), arguments); err != nil {
		return notRun{err}
	}
	return nil
}

func (r *runner) addQuiet(command *cobra.Command, usage string) {
	command.Flags().BoolVarP(&r.quiet, "quiet", "q", false, usage)
}

// addFlags adds the flags that decide whether files can be run: the backend, the backends' own flags, the extensions,
// and the selection. It returns the backends' own flags, by the names of the backends.
func (r *runner) addFlags(command *cobra.Command) (own map[string]*pflag.FlagSet) {
	flags := command.Flags()
	own = map[string]*pflag.FlagSet{}
	names := slices.Sorted(maps.Keys(r.backends))
	flags.StringVar(&r.backend, "backend", "embedded", "what the clusters are: "+strings.Join(names, ", "))
	for _, name := range names {
		if equipped, has := r.backends[name].(Equipped); has {
			own[name] = pflag.NewFlagSet(name, pflag.ContinueOnError)
			equipped.AddFlags(own[name]) // before they are parsed: a flag's variable is set to its default
			equipped.AddFlags(flags)
		}
	}
	r.extensions.AddFlag(flags)
	r.selection.AddFlags(command)
	command.ValidArgsFunction = r.selection.Complete
	complete(command, "backend", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return own
}

// givenBackend returns the values of a backend's own flags, including defaults from environment variables.
func givenBackend(parsed, own *pflag.FlagSet) (flags []string) {
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

// ended is the error of a command that has done its work, with the exit code that the verdict asks for.
type ended struct{ verdict verdict.Verdict }

func (e ended) Error() string { return fmt.Sprintf("the verdict is %s", e.verdict) }

// ExitCode of the program (docs/ci.md).
func (e ended) ExitCode() int { return e.verdict.ExitCode() }

// notRun is the error of a command that failed before a verdict.
type notRun struct{ error }

// ExitCode of the program (docs/ci.md).
func (u notRun) ExitCode() int { return verdict.Error.ExitCode() }

func (u notRun) Unwrap() error { return u.error }

// result of a command with this verdict.
func result(v verdict.Verdict) error {
	if v == verdict.Passed {
		return nil
	}
	return ended{v}
}
