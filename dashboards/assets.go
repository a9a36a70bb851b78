package dashboards

import "embed"

// Assets are the generated files, and those with which Prometheus and Grafana start in containers. A folder with them,
// and with a folder data for Prometheus, is all that the compose files need.
//
//go:embed grafana provisioning alerts.yml compose.yml live.yml past.yml prometheus.yml
var Assets embed.FS
