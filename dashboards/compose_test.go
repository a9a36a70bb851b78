package dashboards_test

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/dashboards"
	"github.com/transplant-sim/transplant/dashboards/prometheustest"
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
	Entrypoint  []string          `json:"entrypoint"`
	Profiles    []string          `json:"profiles"`
	Ports       []string          `json:"ports"`
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

// madeByCommand are the folders that "transplant dashboards" makes: samples before and after they are loaded, and the
// data that they are loaded into.
var madeByCommand = []string{"./data", "./runs", "./loaded"}

type compose struct {
	Services map[string]service `json:"services"`
}

// What Compose starts finds its files, and Grafana the Prometheus beside it and the dashboards.
func TestCompose_EachFile_FitsTogether(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		services int
		config   string // Prometheus's
	}{"compose.yml": {3, "past.yml"}, "live.yml": {2, "prometheus.yml"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := parsed[compose](t, name)
			if len(file.Services) != want.services {
				t.Fatalf("it starts %v", file.Services)
			}
			fitsTogether(t, file, want.config)
		})
	}
}

// Only those of this machine reach Grafana: it asks for no login.
func TestCompose_Ports_AreThisMachinesOnly(t *testing.T) {
	t.Parallel()
	for name, s := range parsed[compose](t, "compose.yml").Services {
		if want := map[string]string{"grafana": "127.0.0.1:3000:3000"}[name]; strings.Join(s.Ports, " ") != want ||
			s.NetworkMode == "host" {
			t.Errorf("%s has the ports %v", name, s.Ports)
		}
	}
	for name, s := range parsed[compose](t, "live.yml").Services {
		address := s.Environment["GF_SERVER_HTTP_ADDR"]
		if name == "prometheus" {
			address, _, _ = strings.Cut(s.flag(t, "web.listen-address"), ":")
		}
		if address != "127.0.0.1" || s.NetworkMode != "host" {
			t.Errorf("%s listens at %q", name, address)
		}
	}
}

// What is loaded is loaded by the container that "transplant dashboards up" starts, into Prometheus's data.
func TestCompose_Load_MovesWhatItHasLoaded(t *testing.T) {
	t.Parallel()
	file := parsed[compose](t, "compose.yml")
	load, prometheus := file.Services["load"], file.Services["prometheus"]
	promtool := prometheustest.Program(t, "promtool")
	root := t.TempDir()
	for inside, here := range load.mounts(t) {
		if err := os.MkdirAll(filepath.Join(root, inside), 0o755); err != nil || !slices.Contains(madeByCommand, here) {
			t.Fatalf("%s is %s here, %v", inside, here, err)
		}
	}
	if load.mounts(t)["/data"] != prometheus.mounts(t)[prometheus.flag(t, "storage.tsdb.path")] ||
		load.Image != prometheus.Image || load.User != prometheus.User || len(load.Profiles) != 1 {
		t.Errorf("what %+v loads is not for %+v", load, prometheus)
	}
	for _, name := range []string{"a.om", "b.om"} {
		samples := "# TYPE x gauge\nx{run=\"" + name + "\"} 1 1700000000\n# EOF\n"
		if err := os.WriteFile(filepath.Join(root, "runs", name), []byte(samples), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := strings.NewReplacer("$$", "$", "/runs/", root+"/runs/", "/loaded/", root+"/loaded/", " /data",
		" "+root+"/data", "promtool", promtool).Replace(strings.Join(load.Command, " "))
	if out, err := exec.CommandContext(t.Context(), load.Entrypoint[0], append(load.Entrypoint[1:],
		script)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	left, _ := filepath.Glob(root + "/runs/*") // the pattern is right
	moved, _ := filepath.Glob(root + "/loaded/*.om")
	blocks, _ := filepath.Glob(root + "/data/*/meta.json")
	if len(left) != 0 || len(moved) != 2 || len(blocks) != 2 {
		t.Errorf("%v left, %v moved, %v made", left, moved, blocks)
	}
}

func fitsTogether(t *testing.T, file compose, configured string) {
	t.Helper()
	prometheus, grafana := file.Services["prometheus"], file.Services["grafana"]
	for name, s := range file.Services {
		for _, here := range s.mounts(t) {
			if _, err := os.Stat(here); err != nil && !slices.Contains(madeByCommand, here) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	config := prometheus.flag(t, "config.file")
	if here := prometheus.mounts(t)[config]; here != "./"+configured {
		t.Errorf("Prometheus reads %s, which is %q here", config, here)
	}
	rules := parsed[struct {
		Rules   []string         `json:"rule_files"`
		Global  map[string]any   `json:"global"`
		Scraped []map[string]any `json:"scrape_configs"`
	}](t, configured).Rules
	for _, rule := range rules {
		if prometheus.mounts(t)[path.Join(path.Dir(config), rule)] != "./"+rule {
			t.Errorf("Prometheus does not find the rules %s", rule)
		}
	}
	if here := prometheus.mounts(t)[prometheus.flag(t, "storage.tsdb.path")]; len(rules) == 0 || here != "./data" {
		t.Errorf("the rules are %v, and past runs are read from %q", rules, here)
	}
	shown := grafana.mounts(t)["/var/lib/grafana/dashboards"]
	begin := grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	if begin != "/var/lib/grafana/dashboards/"+dashboards.HomeUID+".json" || shown != "./grafana" {
		t.Errorf("Grafana begins with %q", begin)
	}
	if _, err := os.Stat(filepath.Join(shown, dashboards.HomeUID+".json")); err != nil {
		t.Error(err)
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
	if len(source.Datasources) != 1 || source.APIVersion != 1 || source.Datasources[0].URL != "$PROMETHEUS_URL" ||
		prometheus.NetworkMode != grafana.NetworkMode {
		t.Errorf("Grafana asks %+v, which is not Prometheus", source)
	}
	host, port, _ := strings.Cut(prometheus.flag(t, "web.listen-address"), ":")
	if want := "http://" + cmp.Or(host, "prometheus") + ":" + port; grafana.Environment["PROMETHEUS_URL"] != want {
		t.Errorf("Grafana asks %q, and Prometheus listens at %q", grafana.Environment["PROMETHEUS_URL"], want)
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
			Title, Type string
			Datasource  struct{ UID string }
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
		if p.Type != "text" && p.Type != "dashlist" && p.Datasource.UID != "${datasource}" {
			t.Errorf("%s: %q asks %q", board, p.Title, p.Datasource.UID)
		}
	}
}
