package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/transplant-sim/transplant/clusters/kind/imagebuild"
)

var kubernetesRequirement = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v\d+\.\d+\.\S+)`)

// kubernetesVersion reads the version out of the module's requirements, so that it is written down once.
func kubernetesVersion(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the Kubernetes version: %w", err)
	}
	found := kubernetesRequirement.FindStringSubmatch(string(content))
	if found == nil {
		return "", fmt.Errorf("read the Kubernetes version: %q does not require k8s.io/kubernetes", file)
	}
	return found[1], nil
}

// programs compiles those that come from Go modules into the work folder's bin, static and small.
func (i *image) programs(ctx context.Context) error {
	parts := strings.SplitN(strings.TrimPrefix(i.version, "v"), ".", 3)
	version := "-X k8s.io/component-base/version."
	kubernetes := strings.Join([]string{
		"-s -w", version + "gitVersion=" + i.version, version + "gitMajor=" + parts[0], version + "gitMinor=" + parts[1],
		version + "gitTreeState=clean",
	}, " ")
	bin := i.at("bin") + string(filepath.Separator)
	environment := []string{"CGO_ENABLED=0", "GOWORK=off"}
	for _, module := range []struct {
		folder string
		args   []string
	}{
		{"kubernetes", []string{"-ldflags", kubernetes, "tool"}},
		// what these leave out needs libraries of filesystems that nodes do not have
		{"runtime", []string{"-ldflags", "-s -w", "-tags", "no_btrfs no_devmapper no_zfs", "tool", "./coredns", "./crictl",
			"./pause", "./storage"}},
	} {
		args := append([]string{"build", "-trimpath", "-o", bin}, module.args...)
		if _, err := imagebuild.Run(ctx, filepath.Join(i.source, module.folder), environment, "go", args...); err != nil {
			return err
		}
	}
	return nil
}
