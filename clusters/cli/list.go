package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/api/output"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// States of a landscape in a list.
const (
	stateReady    = "ready"
	stateStarting = "starting" // or being stopped: nobody but its supervisor knows
	stateEnded    = "ended"    // its logs are there
	stateDead     = "dead"     // its supervisor died; the next up or down clears it
)

// listed is a landscape as programs get it.
type listed struct {
	Name    string     `json:"name"`
	State   string     `json:"state"`
	Backend string     `json:"backend,omitempty"`
	Seeds   []string   `json:"seeds,omitempty"`
	Ready   *time.Time `json:"ready,omitempty"` // since when
	Folder  string     `json:"folder"`
}

func newList() *cobra.Command {
	var form *output.Form
	command := newCommand("list", "List the landscapes of this user",
		func(_ context.Context, command *cobra.Command, _ []string) error {
			home, err := rundir.Home()
			if err != nil {
				return err
			}
			all, err := listLandscapes(home)
			if err != nil {
				return err
			}
			return form.Print(command.OutOrStdout(), all, func(out io.Writer) error {
				return printList(out, all, form.Is(output.Wide))
			})
		})
	command.Long = `List the landscapes of this user: of the commands up and run, also those that have ended and left logs.

A landscape is ready, starting (or being stopped), ended, or dead: its supervisor died, and the next
up or down clears it.`
	command.Example = "  transplant list\n  transplant list -o wide"
	form = output.AddFlag(command, output.Wide)
	return command
}

// listLandscapes below a home folder, by name. Each has a folder.
func listLandscapes(home string) ([]listed, error) {
	entries, err := os.ReadDir(home)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("list the landscapes: %w", err)
	}
	all := []listed{}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		one, err := listOf(rundir.At(entry.Name(), filepath.Join(home, entry.Name())))
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func listOf(dir rundir.Dir) (listed, error) {
	one := listed{Name: dir.Name, Folder: dir.Path}
	owned, err := dir.Owned()
	if err != nil {
		return one, err
	}
	state, unread := dir.ReadState()
	switch {
	case owned && unread != nil:
		one.State = stateStarting
	case owned:
		one.State, one.Ready = stateReady, &state.Ready
	case dir.Ended(), unread != nil:
		one.State = stateEnded
	default:
		one.State = stateDead
	}
	if unread == nil {
		one.Backend = cmp.Or(state.Backend, embeddedBackend)
	}
	for _, c := range state.Clusters {
		if c.Role == string(clusters.Seed) {
			one.Seeds = append(one.Seeds, c.Name)
		}
	}
	return one, nil
}

func printList(out io.Writer, all []listed, wide bool) error {
	if len(all) == 0 {
		_, err := fmt.Fprintf(out, "There is no landscape. Start one with \"%s up\".\n", program())
		return err
	}
	header := []string{"NAME", "STATE", "BACKEND", "SEEDS", "UP SINCE"}
	if wide {
		header = append(header, "FOLDER")
	}
	var rows [][]string
	for _, one := range all {
		since := "-"
		if one.Ready != nil {
			since = one.Ready.Local().Format("2006-01-02 15:04:05")
		}
		row := []string{one.Name, one.State, cmp.Or(one.Backend, "-"), cmp.Or(strings.Join(one.Seeds, ","), "-"), since}
		if wide {
			row = append(row, one.Folder)
		}
		rows = append(rows, row)
	}
	return output.Table(out, header, rows)
}
