package operatingsystem

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
)

// Places of containerd's configuration on a machine (docs/specification/nodes-and-seeds.md#spec-7-3).
const (
	containerdConfig  = "/etc/containerd/config.toml"
	containerdImports = "/etc/containerd/conf.d"
	containerdHosts   = "/etc/containerd/certs.d"
)

// Plugins of containerd that know registries: that of configurations up to version 2, and that of later ones.
const (
	pluginCRI     = "io.containerd.grpc.v1.cri"
	pluginImages  = "io.containerd.cri.v1.images"
	pluginRuntime = "io.containerd.cri.v1.runtime"
)

// containerdFolders are there on every machine, for its owner to put files into.
var containerdFolders = []string{"/etc/containerd", containerdImports, containerdHosts, "/var/bin/containerruntimes"}

// document is a TOML document, or a table of one.
type document = map[string]any

// configureContainerd adds to the files of a new machine those by which its containerd is configured
// (docs/specification/nodes-and-seeds.md#spec-7-3): the hosts directory is what registries are configured by, and what
// is in conf.d is imported. A config.toml that is among the files is the one that is changed; without one, a new one is
// made. A machine without containerd stays as it is.
func configureContainerd(cri *extensionsv1alpha1.CRIConfig, files []cloud.File) (all []cloud.File, folders []string,
	err error) {
	if cri == nil || cri.Name != extensionsv1alpha1.CRINameContainerD {
		return files, nil, nil
	}
	settings := ptr.Deref(cri.Containerd, extensionsv1alpha1.ContainerdConfig{})
	hosts, err := hostsFiles(settings.Registries)
	if err != nil {
		return nil, nil, configurationProblem(err)
	}
	all = append(slices.DeleteFunc(slices.Clone(files), isFile(containerdConfig)), hosts...)
	config, err := baseConfig(files)
	if err != nil {
		return nil, nil, configurationProblem(err)
	}
	if err := completeConfig(config, cri, settings); err != nil {
		return nil, nil, configurationProblem(err)
	}
	if err := onePattern(config, all); err != nil {
		return nil, nil, configurationProblem(err)
	}
	content, err := marshalConfig(config)
	if err != nil {
		return nil, nil, err
	}
	return append(all, cloud.File{Path: containerdConfig, Content: content, Permissions: 0o644}), containerdFolders, nil
}

func configurationProblem(err error) error {
	return contract.WithCodes(fmt.Errorf("configure containerd: %w", err), gardencorev1beta1.ErrorConfigurationProblem)
}

func isFile(at string) func(cloud.File) bool {
	return func(f cloud.File) bool { return path.Clean(f.Path) == at }
}

// baseConfig is the config.toml among the files, or the beginning of one.
func baseConfig(files []cloud.File) (document, error) {
	i := slices.IndexFunc(files, isFile(containerdConfig))
	if i < 0 {
		return document{"version": int64(2)}, nil
	}
	return parse(files[i])
}

func parse(file cloud.File) (document, error) {
	parsed := document{}
	if err := toml.Unmarshal(file.Content, &parsed); err != nil {
		return nil, fmt.Errorf("parse %s: %w", file.Path, err)
	}
	return parsed, nil
}

// completeConfig writes what every node has into a config.toml, and then what extensions want changed in it.
func completeConfig(config document, cri *extensionsv1alpha1.CRIConfig,
	settings extensionsv1alpha1.ContainerdConfig) error {
	imports, _ := config["imports"].([]any)
	if all := containerdImports + "/*.toml"; !slices.Contains(imports, any(all)) {
		config["imports"] = append(imports, all)
	}
	registries, sandbox, runtime := []string{pluginCRI, "registry"}, []string{pluginCRI, "sandbox_image"}, pluginCRI
	if version, _ := config["version"].(int64); version > 2 {
		registries, sandbox, runtime = []string{pluginImages, "registry"}, []string{pluginImages, "pinned_images", "sandbox"},
			pluginRuntime
	}
	plugins := table(config, "plugins")
	table(plugins, registries...)["config_path"] = containerdHosts
	if settings.SandboxImage != "" {
		last := len(sandbox) - 1
		table(plugins, sandbox[:last]...)[sandbox[last]] = settings.SandboxImage
	}
	if driver := ptr.Deref(cri.CgroupDriver, ""); driver != "" {
		table(plugins, runtime, "containerd", "runtimes", "runc",
			"options")["SystemdCgroup"] = driver == extensionsv1alpha1.CgroupDriverSystemd
	}
	for _, change := range settings.Plugins {
		if err := changePlugin(plugins, change); err != nil {
			return err
		}
	}
	return nil
}

// table is the table at a path, which is made where it is missing.
func table(in document, at ...string) document {
	for _, name := range at {
		next, is := in[name].(document)
		if !is {
			next = document{}
			in[name] = next
		}
		in = next
	}
	return in
}

func changePlugin(plugins document, change extensionsv1alpha1.PluginConfig) error {
	if len(change.Path) == 0 {
		return fmt.Errorf("change a plugin: its path is empty")
	}
	if ptr.Deref(change.Op, extensionsv1alpha1.AddPluginPathOperation) == extensionsv1alpha1.RemovePluginPathOperation {
		last := len(change.Path) - 1
		delete(table(plugins, change.Path[:last]...), change.Path[last])
		return nil
	}
	into := table(plugins, change.Path...)
	if change.Values == nil {
		return nil
	}
	values := document{}
	decoder := json.NewDecoder(bytes.NewReader(change.Values.Raw))
	decoder.UseNumber()
	if err := decoder.Decode(&values); err != nil {
		return fmt.Errorf("decode the values of plugin %s: %w", strings.Join(change.Path, "."), err)
	}
	merge(into, values)
	return nil
}

// merge lays values over a table, tables within tables. Numbers become those of TOML.
func merge(into, values document) {
	for key, value := range values {
		switch v := value.(type) {
		case document:
			merge(table(into, key), v)
		case json.Number:
			if whole, err := v.Int64(); err == nil {
				into[key] = whole
			} else if fraction, err := v.Float64(); err == nil {
				into[key] = fraction
			}
		default:
			into[key] = v
		}
	}
}

// marshalConfig writes a config.toml, with the mark by which its owners know what is not theirs to change.
func marshalConfig(config document) ([]byte, error) {
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(config); err != nil {
		return nil, fmt.Errorf("write %s: %w", containerdConfig, err)
	}
	marked := text.String()
	for _, plugin := range []string{pluginCRI, pluginImages} {
		section := fmt.Sprintf("[plugins.%q.registry]\n", plugin)
		marked = strings.Replace(marked, section, strings.TrimSuffix(section, "\n")+" # gardener-managed\n", 1)
	}
	return []byte(marked), nil
}
