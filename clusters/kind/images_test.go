package kind

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What would not start in an image that holds nothing but programs is told before there is one.
func TestProgramsThatWouldNotStartInAnEmptyImage(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := CheckProgram(script); err == nil || !strings.Contains(err.Error(), "it is no program of Linux") {
		t.Errorf("a script: %v", err)
	}
	if err := CheckProgram(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("nothing: %v", err)
	}
	// The system's shell, which every Linux that we know links dynamically.
	if err := CheckProgram("/bin/sh"); err == nil || err.Error() != "it is not static: build it with CGO_ENABLED=0" {
		t.Errorf("a program of the system: %v", err)
	}
}
