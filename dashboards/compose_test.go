package dashboards_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/dashboards"
)

// parsed is a file without fields that the test does not know.
func parsed[T any](t *testing.T, name string) T {
	t.Helper()
	var into T
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(content, &into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return into
}

type service struct {
	Image       string            `json:"image"`
	NetworkMode string            `json:"network_mode"`
	User        string            `json:"user"`
	Command     []string          `json:"command"`
	Environment map[string]string `json:"environment"`
	Volumes     []string          `json:"volumes"`
}

// mounts are the paths of a service's volumes on this machine, by those in the container.
func (s service) mounts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, volume := range s.Volumes {
		parts := strings.Split(volume, ":")
		if len(parts) < 2 || !strings.HasPrefix(parts[0], "./") || !path.IsAbs(parts[1]) {
			t.Fatalf("the volume %q is no folder beside the file", volume)
		}
		all[parts[1]] = parts[0]
	}
	return all
}

func (s service) flag(t *testing.T, name string) string {
	t.Helper()
	for _, argument := range s.Command {
		if value, is := strings.CutPrefix(argument, "--"+name+"="); is {
			return value
		}
	}
	t.Fatalf("%v has no --%s", s.Command, name)
	return ""
}

// madeByUsers is the folder of past runs. By README.md, users make it.
const madeByUsers = "./data"

// What Compose starts finds its files, and Grafana the Prometheus beside it and the dashboards.
func TestComposeFitsTogether(t *testing.T) {
	t.Parallel()
	compose := parsed[struct {
		Services map[string]service `json:"services"`
	}](t, "compose.yml")
	prometheus, grafana := compose.Services["prometheus"], compose.Services["grafana"]
	if len(compose.Services) != 2 || prometheus.Image == "" || grafana.Image == "" {
		t.Fatalf("it starts %v", compose.Services)
	}
	for name, s := range compose.Services {
		for _, here := range s.mounts(t) {
			if _, err := os.Stat(here); err != nil && here != madeByUsers {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	config := prometheus.flag(t, "config.file")
	if here := prometheus.mounts(t)[config]; here != "./prometheus.yml" {
		t.Errorf("Prometheus reads %s, which is %q here", config, here)
	}
	rules := parsed[struct {
		Rules   []string         `json:"rule_files"`
		Global  map[string]any   `json:"global"`
		Scraped []map[string]any `json:"scrape_configs"`
	}](t, "prometheus.yml").Rules
	for _, rule := range rules {
		if prometheus.mounts(t)[path.Join(path.Dir(config), rule)] != "./"+rule {
			t.Errorf("Prometheus does not find the rules %s", rule)
		}
	}
	if here := prometheus.mounts(t)[prometheus.flag(t, "storage.tsdb.path")]; len(rules) == 0 || here != madeByUsers {
		t.Errorf("the rules are %v, and past runs are read from %q", rules, here)
	}
	provisioning := grafana.mounts(t)["/etc/grafana/provisioning"] // where the image looks
	source := parsed[struct {
		APIVersion  int `json:"apiVersion"`
		Datasources []struct {
			Name      string            `json:"name"`
			UID       string            `json:"uid"`
			Type      string            `json:"type"`
			Access    string            `json:"access"`
			URL       string            `json:"url"`
			IsDefault bool              `json:"isDefault"`
			JSONData  map[string]string `json:"jsonData"`
		} `json:"datasources"`
	}](t, filepath.Join(provisioning, "datasources", "prometheus.yml"))
	if len(source.Datasources) != 1 || source.APIVersion != 1 || source.Datasources[0].URL != "http://"+prometheus.flag(t,
		"web.listen-address") || prometheus.NetworkMode != grafana.NetworkMode {
		t.Errorf("Grafana asks %+v, which is not Prometheus", source)
	}
	provider := parsed[struct {
		APIVersion int `json:"apiVersion"`
		Providers  []struct {
			Name    string            `json:"name"`
			Folder  string            `json:"folder"`
			Type    string            `json:"type"`
			Options map[string]string `json:"options"`
		} `json:"providers"`
	}](t, filepath.Join(provisioning, "dashboards", "transplant.yml"))
	if len(provider.Providers) != 1 || provider.APIVersion != 1 || provider.Providers[0].Type != "file" {
		t.Fatalf("Grafana is provided with %+v", provider)
	}
	folder := grafana.mounts(t)[provider.Providers[0].Options["path"]]
	boards, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || folder == "" || len(boards) != len(dashboards.Boards()) {
		t.Errorf("Grafana finds the dashboards %v, %v", boards, err)
	}
	for _, board := range boards {
		asksOf(t, board, source.Datasources[0].UID)
	}
	provided, err := fs.Glob(os.DirFS(provisioning), "*/*")
	if err != nil || !slices.Equal(provided, []string{"dashboards/transplant.yml", "datasources/prometheus.yml"}) {
		t.Errorf("of %v not all is looked at, %v", provided, err)
	}
}

// asksOf a data source with this UID a board does whose variable names it, by which all of its panels go.
func asksOf(t *testing.T, board, uid string) {
	t.Helper()
	content, err := os.ReadFile(board)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Templating struct {
			List []struct {
				Name, Type string
				Query      any // an object where values are asked for
				Current    struct{ Value any }
			}
		}
		Panels []struct {
			Title      string
			Datasource struct{ UID string }
		}
	}
	if err := json.Unmarshal(content, &file); err != nil {
		t.Fatalf("%s: %v", board, err)
	}
	if first := file.Templating.List[0]; uid == "" || first.Name != "datasource" || first.Type != "datasource" ||
		first.Query != "prometheus" || first.Current.Value != uid {
		t.Errorf("%s chooses %+v, and the data source is %q", board, first, uid)
	}
	for _, p := range file.Panels {
		if p.Datasource.UID != "${datasource}" {
			t.Errorf("%s: %q asks %q", board, p.Title, p.Datasource.UID)
		}
	}
}
