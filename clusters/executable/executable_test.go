package executable

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dynamic is a program of every Linux that has a C library.
const dynamic = "/bin/sh"

func written(t *testing.T, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func check(t *testing.T, file string) error {
	t.Helper()
	p, err := Open(file)
	if err != nil {
		return err
	}
	return p.CheckHere(t.Context())
}

func TestCheckHere_ProgramThatWouldNotStart_SaysWhyAndWhatHelps(t *testing.T) {
	t.Parallel()
	shell, err := os.ReadFile(dynamic)
	if err != nil {
		t.Fatal(err)
	}
	program, err := elf.Open(dynamic)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	libraries, err := program.ImportedLibraries()
	if err != nil || len(libraries) == 0 {
		t.Fatalf("the shell needs the libraries %v: %v", libraries, err)
	}
	library := libraries[len(libraries)-1]
	missing := "libx" + library[4:]
	otherProcessor := bytes.Clone(shell)
	otherProcessor[18] = 0xf3 // EM_RISCV in e_machine
	for name, c := range map[string]struct {
		content []byte
		want    []string // nothing for one that starts
	}{
		"a program":           {shell, nil},
		"a script":            {[]byte("#!/bin/sh\ntrue\n"), nil},
		"no program":          {[]byte("MZ"), []string{"is no program of Linux", "GOOS=linux GOARCH="}},
		"an empty file":       {nil, []string{"is no program of Linux"}},
		"another processor":   {otherProcessor, []string{"another processor (EM_RISCV)", "GOARCH="}},
		"a script of nothing": {[]byte("#!\n"), []string{"#!/bin/sh"}},
		"a missing shell":     {[]byte("#!/bin/nosh -e\n"), []string{"needs /bin/nosh", "not on this machine"}},
		"a missing library": {bytes.ReplaceAll(shell, []byte(library+"\x00"), []byte(missing+"\x00")),
			[]string{"needs the library " + missing, "CGO_ENABLED=0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := check(t, written(t, c.content))
			if (err == nil) != (c.want == nil) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q has no %q", err, want)
				}
			}
		})
	}
}

func TestOpen_StaticProgram_NeedsNothing(t *testing.T) {
	t.Parallel()
	if p, err := Open(dynamic); err != nil || p.Static() {
		t.Errorf("a dynamic program is static: %v, %v", p, err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "missing")); !os.IsNotExist(err) {
		t.Errorf("no program: %v", err)
	}
}
