package main

import (
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
	return &cobra.Command{
		Use: "dashboards FOLDER", Short: "Write the Grafana dashboards, alert rules and a compose file into a new folder",
		Long: `Write the Grafana dashboards, alert rules and a compose file into a new folder.

"docker compose" starts Prometheus and Grafana with them. They show a run that has --metrics-address,
and a landscape beside "transplant scrape-targets". The command never overwrites a file.`,
		Example: `  transplant dashboards my-dashboards
  docker compose -f my-dashboards/compose.yml up
  transplant run seed-loss --metrics-address 127.0.0.1:9740`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			folder := arguments[0]
			err := os.CopyFS(folder, dashboards.Assets)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("write the dashboards: %w: give a new folder", err)
			}
			if err == nil {
				err = os.MkdirAll(filepath.Join(folder, "data"), 0o755) // else Docker makes it, for root alone
			}
			if err != nil {
				return fmt.Errorf("write the dashboards: %w", err)
			}
			fmt.Fprintf(command.OutOrStdout(), "The dashboards are in %s. Start Prometheus and Grafana:\n\n  %s\n", folder,
				shellescape.QuoteCommand([]string{"docker", "compose", "-f", filepath.Join(folder, "compose.yml"), "up"}))
			return nil
		},
	}
}
