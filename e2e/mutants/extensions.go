package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// extensionFolders have the files of third-party extensions, from the root of the repository. All run the program of
// the first.
var extensionFolders = []string{"e2e/extensions", "e2e/mutants/extensions"}

// extensions puts the files into a folder, beside their program, and returns those of the mutant.
func (m mutant) extensions(ctx context.Context, folder string) ([]string, error) {
	if len(m.Extensions) == 0 {
		return nil, nil
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	files, err := extensionFiles(".")
	if err != nil {
		return nil, err
	}
	for name, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(folder, name+".yaml"), content, 0o600); err != nil {
			return nil, err
		}
	}
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-w", "-o",
		filepath.Join(folder, "extensions"), "./"+extensionFolders[0])
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the extensions: %w\n%s", err, said)
	}
	var own []string
	for _, name := range m.Extensions {
		own = append(own, filepath.Join(folder, name+".yaml"))
	}
	return own, nil
}

// extensionFiles are the files of both folders, by their names without an ending.
func extensionFiles(root string) (map[string]string, error) {
	files := map[string]string{}
	for _, folder := range extensionFolders {
		found, err := filepath.Glob(filepath.Join(root, folder, "*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			name := strings.TrimSuffix(filepath.Base(file), ".yaml")
			if other, taken := files[name]; taken {
				return nil, fmt.Errorf("%s and %s have the same name", other, file)
			}
			files[name] = file
		}
	}
	return files, nil
}
