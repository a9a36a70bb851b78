package binary

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var kubernetesRequirement = regexp.MustCompile(`(?m)^\s*(?:require\s+)?k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)`)

// version of Kubernetes, as programs get it at link time.
type version struct{ git, major, minor string }

// kubernetesVersion reads the version out of the sources' go.mod, so that it is written down once.
func kubernetesVersion(source string) (version, error) {
	file := filepath.Join(source, "go.mod")
	content, err := os.ReadFile(file)
	if err != nil {
		return version{}, fmt.Errorf("read the Kubernetes version: %w", err)
	}
	found := kubernetesRequirement.FindStringSubmatch(string(content))
	if found == nil {
		return version{}, fmt.Errorf("read the Kubernetes version: %q does not require k8s.io/kubernetes", file)
	}
	return version{git: found[1], major: found[2], minor: found[3]}, nil
}

// linkerFlags make "kubectl version" and the API server's /version say the right version.
func linkerFlags(v version) string {
	flags := []string{"-s", "-w"}
	for _, variable := range []struct{ name, value string }{
		{"gitVersion", v.git}, {"gitMajor", v.major}, {"gitMinor", v.minor}, {"gitTreeState", "clean"},
	} {
		flags = append(flags, "-X", "k8s.io/component-base/version."+variable.name+"="+variable.value)
	}
	return strings.Join(flags, " ")
}
