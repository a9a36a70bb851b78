package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// extensionFolder has the files of third-party extensions and their program, from the root of the repository.
const extensionFolder = "e2e/extensions"

// extensions puts the files into a folder, beside their program, and returns those of the mutant.
func (m mutant) extensions(ctx context.Context, folder string) ([]string, error) {
	if len(m.Extensions) == 0 {
		return nil, nil
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for the extensions: %w", err)
	}
	if err := copyExtensions(".", folder); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-w", "-o",
		filepath.Join(folder, "extensions"), "./"+extensionFolder)
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

// copyExtensions copies the files of extensions of a checkout into a folder.
func copyExtensions(root, folder string) error {
	files, err := filepath.Glob(filepath.Join(root, extensionFolder, "*.yaml"))
	if err != nil {
		return fmt.Errorf("find the files of extensions: %w", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read an extension: %w", err)
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(file)), content, 0o600); err != nil {
			return fmt.Errorf("copy an extension: %w", err)
		}
	}
	return nil
}
