// Package executable says before a program is started why it would not start. It starts no program itself, but asks the
// dynamic loader of this machine for the libraries that a program would get.
package executable

import (
	"bufio"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// Program is an ELF file for this machine's processor, or a script.
type Program struct {
	file string
	// Interpreter is the loader of a dynamic program, or what runs a script; empty for a static program.
	Interpreter string
	// Script says that it is one.
	Script bool
}

// Static says whether the program needs nothing else.
func (p Program) Static() bool { return p.Interpreter == "" }

// Open looks at a program. The error says why this machine cannot run it, and the remedy.
func Open(file string) (Program, error) {
	content, err := os.Open(file)
	if err != nil {
		return Program{}, err
	}
	defer content.Close()
	first, _, err := bufio.NewReaderSize(content, 256).ReadLine()
	if line, is := strings.CutPrefix(string(first), "#!"); err == nil && is {
		words := strings.Fields(line)
		if len(words) == 0 {
			return Program{}, errors.New("is a script that does not say what runs it: begin it with #!/bin/sh, for example")
		}
		return Program{file: file, Interpreter: words[0], Script: true}, nil
	}
	program, err := elf.NewFile(content)
	if err != nil {
		return Program{}, fmt.Errorf("is no program of Linux (%w): build it with GOOS=linux GOARCH=%s, or begin a script "+
			"with #!", err, runtime.GOARCH)
	}
	processors := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	if ours, known := processors[runtime.GOARCH]; known && program.Machine != ours {
		return Program{}, fmt.Errorf("is for another processor (%s): build it with GOARCH=%s", program.Machine,
			runtime.GOARCH)
	}
	p := Program{file: file}
	for _, part := range program.Progs {
		if part.Type != elf.PT_INTERP {
			continue
		}
		name := make([]byte, min(part.Filesz, 4096))
		if _, err := part.ReadAt(name, 0); err != nil {
			return Program{}, fmt.Errorf("is a damaged program: %w", err)
		}
		p.Interpreter = strings.TrimRight(string(name), "\x00")
	}
	return p, nil
}

const loaderTakes = 10 * time.Second

// lacking are the libraries that a loader does not find, as it lists them.
var lacking = regexp.MustCompile(`(?m)^\s*(\S+) => not found|error while loading shared libraries: ([^:\s]+)|` +
	`Error loading shared library ([^:\s]+)`)

// CheckHere says why the program would not start on this machine: its interpreter or its libraries are not here.
func (p Program) CheckHere(ctx context.Context) error {
	if p.Static() {
		return nil
	}
	if _, err := os.Stat(p.Interpreter); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("needs %s, which is not on this machine: install it, or build a static program (CGO_ENABLED=0)",
			p.Interpreter)
	}
	if p.Script {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, loaderTakes)
	defer cancel()
	listed, _ := exec.CommandContext(ctx, p.Interpreter, "--list", p.file).CombinedOutput() // not every loader can list
	if found := lacking.FindStringSubmatch(string(listed)); found != nil {
		return fmt.Errorf("needs the library %s, which is not on this machine: install it, or build a static program "+
			"(CGO_ENABLED=0)", found[1]+found[2]+found[3])
	}
	return nil
}
