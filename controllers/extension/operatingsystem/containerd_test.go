package operatingsystem

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
)

func containerdWith(settings extensionsv1alpha1.ContainerdConfig) *extensionsv1alpha1.CRIConfig {
	return &extensionsv1alpha1.CRIConfig{Name: "containerd", CgroupDriver: ptr.To(extensionsv1alpha1.CgroupDriverSystemd),
		Containerd: &settings}
}

var dockerMirror = extensionsv1alpha1.RegistryConfig{
	Upstream: "docker.io", Server: ptr.To("https://registry-1.docker.io"),
	Hosts: []extensionsv1alpha1.RegistryHost{{URL: "http://public-mirror.example.com"}},
}

func contents(files []cloud.File) map[string]string {
	all := map[string]string{}
	for _, f := range files {
		all[f.Path] = string(f.Content)
	}
	return all
}

// What docs/specification/README.md#s3 shows of a new node: the import, the hosts directory, and the hosts.toml of its
// example.
func TestContainerdOfNewNode(t *testing.T) {
	t.Parallel()
	cri := containerdWith(extensionsv1alpha1.ContainerdConfig{SandboxImage: "pause:3",
		Registries: []extensionsv1alpha1.RegistryConfig{dockerMirror}})
	files, folders, err := configureContainerd(cri, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"/etc/containerd/config.toml": `imports = ["/etc/containerd/conf.d/*.toml"]
version = 2

[plugins]
  [plugins."io.containerd.grpc.v1.cri"]
    sandbox_image = "pause:3"
    [plugins."io.containerd.grpc.v1.cri".containerd]
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes]
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
            SystemdCgroup = true
    [plugins."io.containerd.grpc.v1.cri".registry] # gardener-managed
      config_path = "/etc/containerd/certs.d"
`,
		"/etc/containerd/certs.d/docker.io/hosts.toml": `# managed by gardener-node-agent
server = "https://registry-1.docker.io"

[host."http://public-mirror.example.com"]
  capabilities = ["pull", "resolve"]
`,
	}
	if diff := cmp.Diff(want, contents(files)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, folder := range []string{"/etc/containerd/certs.d", "/etc/containerd/conf.d"} {
		if !slices.Contains(folders, folder) {
			t.Errorf("%s is missing among the folders %v", folder, folders)
		}
	}
	// Whoever writes again what was written changes nothing.
	again, _, err := configureContainerd(containerdWith(extensionsv1alpha1.ContainerdConfig{SandboxImage: "pause:3",
		Registries: []extensionsv1alpha1.RegistryConfig{dockerMirror}}),
		slices.DeleteFunc(files, func(f cloud.File) bool { return strings.HasSuffix(f.Path, hostsFile) }))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, contents(again)); diff != "" {
		t.Errorf("files of files (-want +got):\n%s", diff)
	}
}

func TestContainerdConfig(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings  extensionsv1alpha1.ContainerdConfig
		files     map[string]string
		want, not []string // lines of config.toml
	}{
		"a later version has other plugins": {
			settings: extensionsv1alpha1.ContainerdConfig{SandboxImage: "pause:3"},
			files:    map[string]string{containerdConfig: "version = 3\n"},
			want: []string{
				`[plugins."io.containerd.cri.v1.images".registry] # gardener-managed`,
				`[plugins."io.containerd.cri.v1.images".pinned_images]`, `sandbox = "pause:3"`,
				`[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]`,
			},
			not: []string{"io.containerd.grpc.v1.cri"},
		},
		"what an image brings along stays": {
			files: map[string]string{containerdConfig: "version = 2\nimports = [\"/opt/a.toml\"]\n[debug]\nlevel = \"info\"\n"},
			want:  []string{`imports = ["/opt/a.toml", "/etc/containerd/conf.d/*.toml"]`, `level = "info"`},
		},
		"plugins are changed": {
			settings: extensionsv1alpha1.ContainerdConfig{Plugins: []extensionsv1alpha1.PluginConfig{
				{Path: []string{pluginCRI, "containerd"},
					Values: &apiextensionsv1.JSON{Raw: []byte(`{"snapshotter": "stargz", "runtimes": {"runc": {"limit": 3}}}`)}},
				{Path: []string{pluginCRI, "containerd", "runtimes", "runc", "options"},
					Op: ptr.To(extensionsv1alpha1.RemovePluginPathOperation)},
			}},
			want: []string{`snapshotter = "stargz"`, "limit = 3"}, not: []string{"SystemdCgroup"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, _, err := configureContainerd(containerdWith(test.settings), filesOf(test.files))
			if err != nil {
				t.Fatal(err)
			}
			text := contents(files)[containerdConfig]
			for _, line := range test.want {
				if !strings.Contains(text, line) {
					t.Errorf("%q is missing in:\n%s", line, text)
				}
			}
			for _, line := range test.not {
				if strings.Contains(text, line) {
					t.Errorf("%q is in:\n%s", line, text)
				}
			}
		})
	}
}

func filesOf(texts map[string]string) []cloud.File {
	var files []cloud.File
	for at, text := range texts {
		files = append(files, cloud.File{Path: at, Content: []byte(text)})
	}
	return files
}

const (
	oldMirrors = `[plugins."io.containerd.grpc.v1.cri".registry.mirrors."docker.io"]` +
		"\nendpoint = [\"https://public-mirror.example.com\"]\n"
	oldConfigs = `[plugins."io.containerd.cri.v1.images".registry.configs."docker.io".tls]` +
		"\ninsecure_skip_verify = true\n"
)

// The two patterns of docs/specification/README.md#s3: each by itself is let be, both at once are an error of whoever
// configured it.
func TestRegistryPatterns(t *testing.T) {
	t.Parallel()
	hosts := []extensionsv1alpha1.RegistryConfig{dockerMirror}
	for name, test := range map[string]struct {
		registries []extensionsv1alpha1.RegistryConfig
		plugins    []extensionsv1alpha1.PluginConfig
		files      map[string]string
		both       string // what the error says, none if empty
	}{
		"new alone":                      {registries: hosts},
		"old alone, in conf.d":           {files: map[string]string{"/etc/containerd/conf.d/a.toml": oldMirrors}},
		"old alone, of the later plugin": {files: map[string]string{"/etc/containerd/conf.d/a.toml": oldConfigs}},
		"old, and taken back by a later file": {registries: hosts,
			files: map[string]string{"/etc/containerd/conf.d/a.toml": oldMirrors,
				"/etc/containerd/conf.d/b.toml": `plugins."io.containerd.grpc.v1.cri".` +
					`registry.config_path = "/etc/containerd/certs.d"`}},
		"old in a file that is not imported": {registries: hosts,
			files: map[string]string{"/etc/containerd/conf.d/a.toml.off": oldMirrors}},
		"old in config.toml": {
			files: map[string]string{containerdConfig: oldMirrors},
			both:  "/etc/containerd/config.toml has mirrors beside config_path",
		},
		"old and new in one file of conf.d": {
			files: map[string]string{
				"/etc/containerd/conf.d/a.toml": `plugins."io.containerd.grpc.v1.cri".registry.config_path = "/x"` + "\n" +
					oldMirrors},
			both: "/etc/containerd/conf.d/a.toml has mirrors beside config_path",
		},
		"old in conf.d and a mirror of an extension": {
			registries: hosts, files: map[string]string{"/etc/containerd/conf.d/a.toml": oldMirrors},
			both: "/etc/containerd/conf.d/a.toml has mirrors, and there is /etc/containerd/certs.d/docker.io/hosts.toml",
		},
		"old in conf.d and a hosts.toml of the owner": {
			files: map[string]string{"/etc/containerd/conf.d/a.toml": oldConfigs,
				"/etc/containerd/certs.d/quay.io/hosts.toml": ""},
			both: "/etc/containerd/conf.d/a.toml has configs, and there is /etc/containerd/certs.d/quay.io/hosts.toml",
		},
		"old by a change of a plugin": {
			plugins: []extensionsv1alpha1.PluginConfig{{Path: []string{pluginCRI, "registry", "mirrors", "docker.io"}}},
			both:    "/etc/containerd/config.toml has mirrors beside config_path",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := configureContainerd(containerdWith(extensionsv1alpha1.ContainerdConfig{Registries: test.registries,
				Plugins: test.plugins}), filesOf(test.files))
			if test.both == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if !errors.Is(err, errBothPatterns) || !strings.Contains(err.Error(), test.both) {
				t.Errorf("the error is %v, want that %s", err, test.both)
			}
			if codes := contract.Codes(err); !slices.Equal(codes, []gardencorev1beta1.ErrorCode{"ERR_CONFIGURATION_PROBLEM"}) {
				t.Errorf("its codes are %v", codes)
			}
		})
	}
}

func TestContainerdRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		registries []extensionsv1alpha1.RegistryConfig
		files      map[string]string
		want       string
	}{
		"a way out of the hosts directory": {registries: []extensionsv1alpha1.RegistryConfig{{Upstream: "../../x"}},
			want: `registry "../../x": it is no name of a host`},
		"an upstream twice": {registries: []extensionsv1alpha1.RegistryConfig{dockerMirror, dockerMirror},
			want: "it is listed twice"},
		"what is no TOML": {files: map[string]string{"/etc/containerd/conf.d/a.toml": "["},
			want: "parse /etc/containerd/conf.d/a.toml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := configureContainerd(containerdWith(extensionsv1alpha1.ContainerdConfig{Registries: test.registries}),
				filesOf(test.files))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestHostsFile(t *testing.T) {
	t.Parallel()
	got := hostsOf(extensionsv1alpha1.RegistryConfig{Upstream: "quay.io", Hosts: []extensionsv1alpha1.RegistryHost{
		{URL: "https://b.test", Capabilities: []extensionsv1alpha1.RegistryCapability{"pull"}, CACerts: []string{"/ca.crt"}},
		{URL: "https://a.test/v2/x", OverridePath: ptr.To(true)},
	}})
	want := `# managed by gardener-node-agent

[host."https://b.test"]
  capabilities = ["pull"]
  ca = ["/ca.crt"]

[host."https://a.test/v2/x"]
  capabilities = ["pull", "resolve"]
  override_path = true
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hosts.toml (-want +got):\n%s", diff)
	}
}
