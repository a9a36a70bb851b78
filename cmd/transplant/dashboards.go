package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/dashboards"
)

func newDashboards() *cobra.Command {
	command := &cobra.Command{
		Use: "dashboards FOLDER", Short: "Show runs in Grafana, or write the dashboards into a new folder",
		Long: `Write the Grafana dashboards, alert rules and compose files into a new folder. The command never
overwrites a file.

"transplant dashboards up" does the same and more: it loads runs, and starts Prometheus and Grafana.`,
		Example: `  transplant dashboards up out      # all runs in out, in a Grafana
  transplant dashboards my-dashboards
  DASHBOARDS_USER=$(id -u):$(id -g) docker compose -f my-dashboards/live.yml up
  transplant run seed-loss --metrics-address 127.0.0.1:9740`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			folder := arguments[0]
			err := os.CopyFS(folder, dashboards.Assets)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("write the dashboards: %w: give a new folder", err)
			}
			if err == nil {
				err = makeFolders(folder)
			}
			if err != nil {
				return fmt.Errorf("write the dashboards: %w", err)
			}
			fmt.Fprintf(command.OutOrStdout(), "The dashboards are in %s. Start Prometheus and Grafana:\n\n"+
				"  DASHBOARDS_USER=$(id -u):$(id -g) %s\n", folder,
				shellescape.QuoteCommand([]string{"docker", "compose", "-f", filepath.Join(folder, "live.yml"), "up"}))
			return nil
		},
	}
	command.AddCommand(newDashboardsUp(), newDashboardsDown())
	return command
}

// Folders beside the compose files: samples that are to be loaded, those that have been, and Prometheus's own.
const runsFolder, loadedFolder, dataFolder = "runs", "loaded", "data"

// makeFolders that containers use. Docker would make them, for root alone.
func makeFolders(folder string) error {
	var errs []error
	for _, name := range []string{runsFolder, loadedFolder, dataFolder} {
		errs = append(errs, os.MkdirAll(filepath.Join(folder, name), 0o755))
	}
	return errors.Join(errs...)
}

// keepAssets writes what this program has, over what another one may have written.
func keepAssets(folder string) error {
	return fs.WalkDir(dashboards.Assets, ".", func(path string, entry fs.DirEntry, err error) error {
		to := filepath.Join(folder, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return errors.Join(os.MkdirAll(to, 0o755), os.Chmod(to, 0o755))
		}
		content, err := fs.ReadFile(dashboards.Assets, path)
		if err != nil {
			return err
		}
		if there, err := os.ReadFile(to); err != nil || !bytes.Equal(there, content) {
			if err := os.WriteFile(to, content, 0o644); err != nil {
				return err
			}
		}
		return os.Chmod(to, 0o644) // the user of Grafana's container reads it, whatever the umask
	})
}
