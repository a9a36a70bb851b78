package operatingsystem

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/cloud"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// hostsFile is the name of an upstream's file below its folder in the hosts directory.
const hostsFile = "hosts.toml"

// hostsFiles are the files of the hosts directory, one for each upstream. Readiness probes are not made: machines here
// pull nothing, and a new one would have to wait for mirrors that may run in the shoot itself.
func hostsFiles(registries []extensionsv1alpha1.RegistryConfig) ([]cloud.File, error) {
	var files []cloud.File
	for _, registry := range registries {
		if registry.Upstream == "" || strings.ContainsAny(registry.Upstream, "/\\") || strings.HasPrefix(registry.Upstream,
			".") {
			return nil, fmt.Errorf("write the hosts of registry %q: it is no name of a host", registry.Upstream)
		}
		at := path.Join(containerdHosts, registry.Upstream, hostsFile)
		if slices.ContainsFunc(files, isFile(at)) {
			return nil, fmt.Errorf("write the hosts of registry %q: it is listed twice", registry.Upstream)
		}
		files = append(files, cloud.File{Path: at, Content: []byte(hostsOf(registry)), Permissions: 0o644})
	}
	return files, nil
}

// hostsOf is a hosts.toml. Hosts are tried in the order in which they stand there.
func hostsOf(registry extensionsv1alpha1.RegistryConfig) string {
	var text strings.Builder
	text.WriteString("# managed by gardener-node-agent\n")
	if server := ptr.Deref(registry.Server, ""); server != "" {
		fmt.Fprintf(&text, "server = %q\n", server)
	}
	for _, host := range registry.Hosts {
		capabilities := host.Capabilities
		if len(capabilities) == 0 {
			capabilities = []extensionsv1alpha1.RegistryCapability{extensionsv1alpha1.PullCapability,
				extensionsv1alpha1.ResolveCapability}
		}
		fmt.Fprintf(&text, "\n[host.%q]\n  capabilities = %s\n", host.URL, quoted(capabilities))
		if len(host.CACerts) > 0 {
			fmt.Fprintf(&text, "  ca = %s\n", quoted(host.CACerts))
		}
		if override := host.OverridePath; override != nil {
			fmt.Fprintf(&text, "  override_path = %t\n", *override)
		}
	}
	return text.String()
}

func quoted[S ~string](values []S) string {
	var all []string
	for _, value := range values {
		all = append(all, fmt.Sprintf("%q", string(value)))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// errBothPatterns says that registries are configured in a way that containerd does not start with, or in two ways of
// which it would take no notice of one.
var errBothPatterns = errors.New(
	"registries are configured by the old pattern (registry.mirrors, registry.configs) and by the hosts directory: " +
		"only one of them can be used")

// onePattern returns an error if both patterns by which registries are configured are in use
// (docs/specification/nodes-and-seeds.md#spec-7-3): the old one, which is deprecated, and the hosts directory. A file
// in conf.d that speaks of a plugin replaces all that was said of it before, as containerd merges sections and not
// keys; so a machine's owner may go back to the old pattern, as long as nobody wants hosts.
func onePattern(config document, files []cloud.File) error {
	plugins, origin := maps.Clone(table(config, "plugins")), map[string]string{pluginCRI: containerdConfig,
		pluginImages: containerdConfig}
	for _, file := range imported(files) {
		parsed, err := parse(file)
		if err != nil {
			return err
		}
		for name, section := range table(parsed, "plugins") {
			plugins[name], origin[name] = section, file.Path
		}
	}
	hosts := slices.IndexFunc(files, func(f cloud.File) bool {
		matched, err := path.Match(containerdHosts+"/*/"+hostsFile, path.Clean(f.Path))
		return err == nil && matched
	})
	for _, name := range []string{pluginCRI, pluginImages} {
		section, _ := plugins[name].(document)
		registry, _ := section["registry"].(document)
		old := slices.DeleteFunc([]string{"mirrors", "configs"}, func(key string) bool { _, is := registry[key]; return !is })
		if len(old) == 0 {
			continue
		}
		if at, _ := registry["config_path"].(string); at != "" {
			return fmt.Errorf("%w: %s has %s beside config_path", errBothPatterns, origin[name], strings.Join(old, " and "))
		}
		if hosts >= 0 {
			return fmt.Errorf("%w: %s has %s, and there is %s", errBothPatterns, origin[name], strings.Join(old, " and "),
				files[hosts].Path)
		}
	}
	return nil
}

// imported are the files of conf.d in the order in which containerd reads them.
func imported(files []cloud.File) []cloud.File {
	found := slices.DeleteFunc(slices.Clone(files), func(f cloud.File) bool {
		matched, err := path.Match(containerdImports+"/*.toml", path.Clean(f.Path))
		return err != nil || !matched
	})
	slices.SortFunc(found, func(a, b cloud.File) int { return strings.Compare(a.Path, b.Path) })
	return found
}
