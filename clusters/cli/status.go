package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/api/output"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/embedded/supervisor"
)

func newStatus(configure Configure) *cobra.Command {
	var flags landscapeFlag
	var form *output.Form
	var watching bool
	var timeout time.Duration
	command := flags.command("status", "Show which programs of a landscape run, and its shoots",
		func(ctx context.Context, command *cobra.Command, dir rundir.Dir, _ []string) error {
			switch {
			case watching && !form.Is(output.Text):
				return errors.New("--watch prints lines of text: leave --output out")
			case timeout < 0:
				return fmt.Errorf("--timeout %s: must be positive", timeout)
			case !watching && timeout != 0:
				return fmt.Errorf("--timeout %s: is how long to watch: add --watch, or leave it out", timeout)
			case watching:
				return watch(ctx, command.OutOrStdout(), watched{dir, configure}, timeout)
			}
			now, err := watched{dir, configure}.look(ctx)
			if err != nil {
				return err
			}
			return form.Print(command.OutOrStdout(), now, func(out io.Writer) error {
				return now.print(out, form.Is(output.Wide))
			})
		})
	command.Long = `Show which programs of a landscape run, and its shoots: the seed that each is really on, the epoch
of the claim to it, its last operation, and its last errors.

--watch goes on with a line for each change, until you interrupt the command or the landscape ends.`
	command.Example = `  transplant status
  transplant status -w                        # until you interrupt it
  transplant status -o wide                   # and where kubeconfigs are
  transplant status --landscape run -o yaml`
	command.Flags().BoolVarP(&watching, "watch", "w", false, "print a line for each change")
	command.Flags().DurationVar(&timeout, "timeout", 0, "how long to watch (default: until you interrupt the command)")
	form = output.AddFlag(command, output.Wide)
	return command
}

// status of a landscape at one moment.
type status struct {
	rundir.State
	shootsKnown
}

// watched is a landscape, and how to ask for its shoots.
type watched struct {
	dir       rundir.Dir
	configure Configure
}

func (w watched) look(ctx context.Context) (status, error) {
	state, err := readState(w.dir)
	if errors.Is(err, rundir.ErrNotUp) || errors.Is(err, errStarting) {
		err = explainNotUp(ctx, w.dir, err)
	}
	if err != nil {
		return status{}, err
	}
	return status{state, shootsOf(ctx, w.configure, state)}, nil
}

// explainNotUp distinguishes a landscape that is starting from one that is dead and from one that never was.
func explainNotUp(ctx context.Context, dir rundir.Dir, notUp error) error {
	if status, err := supervisor.AskStatus(ctx, dir); err == nil {
		return fmt.Errorf("look at the landscape %q: it is in phase %s: wait for it", dir.Name, status.Phase)
	}
	switch _, err := dir.ReadState(); {
	case errors.Is(notUp, errStarting), err != nil:
		return notUp
	case dir.Ended():
		return fmt.Errorf("%w (it has ended; its logs are in %s)", notUp, dir.Path)
	default:
		return fmt.Errorf("%w (its supervisor died; the next \"up\" or \"down\" clears %s)", notUp, dir.Path)
	}
}

// print a table for people. A wide one says where kubeconfigs are.
func (s status) print(out io.Writer, wide bool) error {
	state := s.State
	where := fmt.Sprintf("slot %d", state.Slot)
	if state.Backend == rundir.Kind {
		where = "on kind"
	}
	fmt.Fprintf(out, "Landscape %q, %s, supervisor %d, up since %s.\n\n",
		state.Name, where, state.Supervisor.PID, state.Ready.Local().Format("2006-01-02 15:04:05"))
	header := []string{"CLUSTER", "ROLE", "URL", "PROCESSES"}
	var rows [][]string
	var dead []string
	for _, c := range state.Clusters {
		text, ended := countCluster(c)
		dead = append(dead, ended...)
		rows = append(rows, []string{c.Name, c.Role, c.URL, text, c.Kubeconfig})
	}
	for _, p := range state.Processes {
		text, ended := countRunning([]rundir.ProcessState{p})
		dead = append(dead, ended...)
		rows = append(rows, []string{"-", p.Name, "-", text, "-"})
	}
	if wide {
		header = append(header, "KUBECONFIG")
	}
	for i := range rows {
		rows[i] = rows[i][:len(header)]
	}
	err := errors.Join(output.Table(out, header, rows), s.shootsKnown.print(out), printLinks(out, state.Links))
	if err != nil {
		return err
	}
	if len(dead) > 0 {
		return fmt.Errorf("%w: %s ended", errUnhealthy, strings.Join(dead, ", "))
	}
	return nil
}

// shootsKnown to the garden, or why they are not.
type shootsKnown struct {
	Shoots  []Shoot `json:"shoots,omitempty"`
	Unknown string  `json:"shootsUnknown,omitempty"`
}

func shootsOf(ctx context.Context, configure Configure, state rundir.State) (known shootsKnown) {
	for _, c := range state.Clusters {
		if c.Role == string(clusters.Garden) && configure.Shoots != nil {
			var err error
			if known.Shoots, err = configure.Shoots(ctx, c.Kubeconfig); err != nil {
				known.Unknown = err.Error()
			}
		}
	}
	return known
}

// print is no error where the garden does not answer: it may be what somebody looks at.
func (s shootsKnown) print(out io.Writer) error {
	if s.Unknown != "" {
		_, err := fmt.Fprintf(out, "\nThe shoots are not known: %s\n", s.Unknown)
		return err
	}
	if len(s.Shoots) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out)
	fmt.Fprintln(table, "SHOOT\tSEED\tEPOCH\tLAST OPERATION")
	for _, one := range s.Shoots {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", one.Name, one.Seed, one.epoch(), one.LastOperation)
	}
	err := table.Flush()
	for _, one := range s.Shoots {
		for _, text := range one.LastErrors {
			fmt.Fprintf(out, "\n%s: %s\n", one.Name, text)
		}
	}
	return err
}

func (s Shoot) epoch() string {
	if s.Epoch == 0 {
		return "-"
	}
	return strconv.Itoa(s.Epoch)
}

// printLinks is a table of its own: its columns have other widths.
func printLinks(out io.Writer, links []rundir.LinkState) error {
	if len(links) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out)
	fmt.Fprintln(table, "ACTOR\tTARGET\tLINK")
	for _, l := range links {
		fmt.Fprintf(table, "%s\t%s\t%s\n", l.Actor, l.Target, l.URL)
	}
	return table.Flush()
}

func countRunning(all []rundir.ProcessState) (text string, dead []string) {
	for _, p := range all {
		if !p.ID.Alive() {
			dead = append(dead, p.Name)
		}
	}
	return fmt.Sprintf("%d of %d run", len(all)-len(dead), len(all)), dead
}

// countCluster says also whether a cluster is lost or frozen. Those of a lost one are dead on purpose: none is listed.
func countCluster(c rundir.ClusterState) (text string, dead []string) {
	text, dead = countRunning(c.Processes)
	if c.Outage != "" {
		text += ", " + string(c.Outage)
	}
	if c.Outage == rundir.Lost {
		dead = nil
	}
	return text, dead
}
