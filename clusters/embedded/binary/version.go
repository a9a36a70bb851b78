package binary

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
	"golang.org/x/tools/txtar"
)

// goModFile is the file of the sources that names the versions, kubernetesModule the module that is Kubernetes.
const (
	goModFile        = "go.mod"
	kubernetesModule = "k8s.io/kubernetes"
)

// Version of a module, such as k8s.io/kubernetes, that the control-plane binary of this program is built from.
func Version(module string) (string, error) {
	for _, file := range txtar.Parse(archive).Files {
		if file.Name == goModFile {
			return required(goModFile, file.Data, module)
		}
	}
	return "", fmt.Errorf("find the version of %s: the sources of the control-plane binary have no %s", module, goModFile)
}

// required version of a module.
func required(path string, content []byte, module string) (string, error) {
	file, err := modfile.ParseLax(path, content, nil)
	if err != nil {
		return "", fmt.Errorf("find the version of %s: %w", module, err)
	}
	for _, r := range file.Require {
		if r.Mod.Path == module {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("find the version of %s: %q does not require it", module, path)
}

// kubernetesVersion reads the version out of the sources' go.mod, so that it is written down once.
func kubernetesVersion(source string) (string, error) {
	path := filepath.Join(source, goModFile)
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the Kubernetes version: %w", err)
	}
	return required(path, content, kubernetesModule)
}

// linkerFlags make "kubectl version" and the API server's /version say the right version.
func linkerFlags(version string) string {
	major, minor, _ := strings.Cut(strings.TrimPrefix(semver.MajorMinor(version), "v"), ".")
	flags := []string{"-s", "-w"}
	for _, variable := range []struct{ name, value string }{
		{"gitVersion", version}, {"gitMajor", major}, {"gitMinor", minor}, {"gitTreeState", "clean"},
	} {
		flags = append(flags, "-X", "k8s.io/component-base/version."+variable.name+"="+variable.value)
	}
	return strings.Join(flags, " ")
}
