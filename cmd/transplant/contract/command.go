package contract

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/api/output"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/kind"
	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/contract/plan"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// options of the command.
type options struct {
	file       string
	clauses    []string
	kinds      []string
	points     string
	expected   string
	plan       string
	shrink     time.Duration
	out        string
	multiplier int
	backend    string
	nodeImage  string
	version    func() string

	replayed *plan.Plan // of --plan
}

// NewCommand is the command `contract`, of a program of this version, with the files of the catalogue, which has the
// schemas.
func NewCommand(version func() string, files fs.FS) *cobra.Command {
	o := &options{version: version}
	command := &cobra.Command{
		Use:   "contract FILE",
		Short: "Try an extension against the contract between gardenlets and extensions, clause by clause",
		Long: `Try an extension against the contract between gardenlets and extensions, clause by clause.

FILE is what --extension of other commands takes (docs/third-party-extensions.md). The command starts
two API servers with the extension, and the simulated cloud. It plays the gardenlet: reconcile,
migrate, restore on the other seed, delete. Then it kills the extension at each write of create,
migrate, restore and delete. It needs no scenario; there is no garden, and there is no control plane of a shoot.

The exit code is 0 for Conformant, 1 for NonConformant, 2 for an error, and 3 if nothing breaks a
clause and some that apply could not be judged. What --expected-failures lists counts as known, and
the exit code is 1 if it did not fail. docs/contract-kit.md says more.`,
		Example: `  transplant contract my-extension.yaml
  transplant contract my-extension.yaml --kind Network --clause B4,B17
  transplant contract my-extension.yaml --points none      # without crashes
  transplant contract my-extension.yaml --plan out/contract/my-extension/plans/B4-Network-calico.yaml
  transplant contract init --kinds Network                 # a first FILE
  transplant contract explain B4                           # what a clause is, and how it is judged`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			o.file = args[0]
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			return o.run(ctx, command.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&o.clauses, "clause", nil,
		"judge only these clauses: A1, or B for all of a group; may be repeated")
	flags.StringSliceVar(&o.kinds, "kind", nil, "try only these kinds; may be repeated")
	completeList(command, "clause", func() (all []string) {
		for _, c := range contract.Clauses() {
			all = append(all, c.ID)
		}
		return all
	})
	completeList(command, "kind", landscape.ExtensionKinds)
	flags.StringVar(&o.points, "points", "all",
		"crash points to try: all, or none, which leaves "+contract.ByCrashes+" out")
	flags.StringVar(&o.expected, "expected-failures", "",
		"YAML file of clauses that the extension is known to break, each with a reason")
	flags.StringVar(&o.plan, "plan", "", "YAML file of a plan that an earlier run has written: do that alone")
	flags.DurationVar(&o.shrink, "shrink", 0,
		"how long to look for a smaller plan for each finding that breaks a clause; 0 for never")
	for _, other := range []string{"clause", "kind", "points", "expected-failures"} {
		command.MarkFlagsMutuallyExclusive("plan", other)
	}
	flags.StringVar(&o.out, "out", "", "folder for report and logs (default out/contract/<extension>)")
	flags.IntVar(&o.multiplier, "timeout-multiplier", 1,
		"multiplies all waits; 2 or 3 on a slow or busy machine")
	flags.StringVar(&o.backend, "backend", embeddedBackend, "what the seeds are: embedded, kind")
	flags.StringVar(&o.nodeImage, "node-image", os.Getenv(kind.NodeImageVariable),
		"backend kind: the node image; empty for the published image of kind (default: $"+kind.NodeImageVariable+")")
	command.AddCommand(newExplain(), newInit(files))
	return command
}

func newExplain() *cobra.Command {
	var form *output.Form
	command := &cobra.Command{
		Use:               "explain ID",
		Short:             "Say what a clause is, where it is written, and how it is judged",
		Example:           "  transplant contract explain B4\n  transplant contract explain B4 -o yaml",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeClauses,
		RunE: func(command *cobra.Command, args []string) error {
			clause, found := contract.ClauseByID(args[0])
			if !found {
				return fmt.Errorf("there is no clause %q; docs/contract.md has all, such as B4", args[0])
			}
			return form.Print(command.OutOrStdout(), clause, func(out io.Writer) error {
				clause.Explain(out)
				return nil
			})
		},
	}
	form = output.AddFlag(command)
	return command
}

// completeList has a shell complete the values of a flag that takes several, after each comma.
func completeList(command *cobra.Command, flag string, values func() []string) {
	complete := func(_ *cobra.Command, _ []string, begun string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
		before := begun[:strings.LastIndex(begun, ",")+1]
		for _, value := range values() {
			all = append(all, before+value)
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
	if err := command.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // there is no such flag, or it is registered twice
	}
}

// completeClauses names the clauses that are not given yet, for a shell.
func completeClauses(_ *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all []cobra.Completion
	for _, c := range contract.Clauses() {
		if len(given) == 0 {
			all = append(all, cobra.CompletionWithDesc(c.ID, c.Text))
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// selected are the clauses that the flags name; all if they name none.
func (o *options) selected() ([]contract.Clause, error) {
	if len(o.clauses) == 0 {
		return contract.Clauses(), nil
	}
	var found []contract.Clause
	for _, wanted := range o.clauses {
		known := false
		for _, c := range contract.Clauses() {
			isGroup := len(wanted) == 1 && strings.EqualFold(c.ID[:1], wanted)
			if !isGroup && !strings.EqualFold(c.ID, wanted) {
				continue
			}
			known = true
			if !slices.Contains(found, c) {
				found = append(found, c)
			}
		}
		if !known {
			return nil, fmt.Errorf("--clause: there is no clause %q; docs/contract.md has all, such as B4", wanted)
		}
	}
	return found, nil
}

// check the flags, and find the clauses that they leave.
func (o *options) check() ([]contract.Clause, error) {
	clauses, err := o.selected()
	if err != nil {
		return nil, err
	}
	if o.points != "all" && o.points != "none" {
		return nil, fmt.Errorf("--points: must be all or none, and not %q", o.points)
	}
	if o.points == "none" {
		clauses = slices.DeleteFunc(slices.Clone(clauses), func(c contract.Clause) bool { return c.ID == contract.ByCrashes })
	}
	if len(clauses) == 0 {
		return nil, fmt.Errorf("--points: none leaves %s out, and --clause has no other", contract.ByCrashes)
	}
	if o.backend != embeddedBackend && o.backend != rundir.Kind {
		return nil, fmt.Errorf("--backend: must be %s or %s, and not %q", embeddedBackend, rundir.Kind, o.backend)
	}
	if o.multiplier < 1 {
		return nil, fmt.Errorf("--timeout-multiplier: must be 1 or more, and not %d", o.multiplier)
	}
	return clauses, nil
}

// readPlan makes of --plan what is tried; without the flag it is what other flags say.
func (o *options) readPlan(kinds []string, clauses []contract.Clause) ([]contract.Clause, error) {
	if o.plan == "" {
		return clauses, nil
	}
	p, err := plan.Read(o.plan, kinds)
	if err != nil {
		return nil, err
	}
	o.replayed, o.kinds = &p, []string{p.Of}
	return []contract.Clause{p.Judged()}, nil
}

// chooseOut finds the folder of the results. What found the plan of --plan stays: its folder is not the one.
func (o *options) chooseOut(extension string) error {
	const replays = "replay"
	isChosen := o.out != ""
	if !isChosen {
		o.out = filepath.Join("out", "contract", extension)
	}
	if o.plan == "" {
		return nil
	}
	if !isChosen {
		o.out = filepath.Join(o.out, replays)
	}
	for o.hasPlan() {
		if isChosen {
			return fmt.Errorf("--out: the results in %s have found the plan, and would be replaced; name another folder, "+
				"such as %s", o.out, filepath.Join(o.out, replays))
		}
		o.out = filepath.Join(o.out, replays)
	}
	return nil
}

// hasPlan says that the plan of --plan is one of those in the folder of the results.
func (o *options) hasPlan() bool {
	return isSame(filepath.Dir(o.plan), filepath.Join(o.out, plansName))
}
