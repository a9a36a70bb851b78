package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// bill is what the programs and packages of one Go module are made of.
type bill struct {
	name     string
	licenses []string           // of the module itself: the repository's
	requires map[string]bool    // modules that its own packages import
	modules  map[string]*module // all of them but itself, by path
}

// module that is compiled in, in whole or in part.
type module struct {
	path, version string
	licenses      map[string]bool // of the packages that are compiled in
	requires      map[string]bool
}

// standardLibrary is the name by which scanners of bills know it.
const standardLibrary = "stdlib"

// goPackage is what "go list -json" says.
type goPackage struct {
	ImportPath, Dir, Root string
	Standard              bool
	DepOnly               bool // not asked for, only imported
	Module                *goModule
	Imports               []string
}

type goModule struct {
	Path, Version, Dir string
	Main               bool
	Replace            *goModule
}

// list asks the go command what is compiled for s, on Linux, and finds the licences of that. Errors name the folder.
func list(ctx context.Context, root string, s shipped) (*bill, error) {
	packages, err := goList(ctx, root, s)
	if err != nil {
		return nil, fmt.Errorf("list the packages of %s in %q: %w", s.Name, s.Folder, err)
	}
	b := &bill{name: s.Name, requires: map[string]bool{}, modules: map[string]*module{}}
	scan := scanner{}
	if b.licenses, err = scan.folder(root); err != nil {
		return nil, err
	}
	owner := map[string]string{} // module of each package; dependencies come first
	for _, p := range packages {
		requires := b.requires
		if path, version, folder := p.module(); path != "" {
			owner[p.ImportPath] = path
			if b.modules[path] == nil {
				b.modules[path] = &module{path: path, version: version, licenses: map[string]bool{}, requires: map[string]bool{}}
			}
			if requires = b.modules[path].requires; !p.DepOnly {
				b.requires[path] = true // a program that we build as it is
			}
			if err := scan.upwards(p.Dir, folder, b.modules[path].licenses); err != nil {
				return nil, fmt.Errorf("find the licence of %s: %w", p.ImportPath, err)
			}
		}
		for _, imported := range p.Imports {
			if other := owner[imported]; other != "" && other != owner[p.ImportPath] {
				requires[other] = true
			}
		}
	}
	if len(b.modules) == 0 {
		return nil, fmt.Errorf("list the packages of %s in %q: there are none: name others in bill.yaml", s.Name, s.Folder)
	}
	return b, nil
}

// module that the package is from, and the folder where that begins; the path is empty for one of our own.
func (p *goPackage) module() (path, version, folder string) {
	switch m := p.Module; {
	case p.Standard:
		return standardLibrary, strings.TrimPrefix(runtime.Version(), "go"), p.Root
	case m == nil || m.Main:
		return "", "", ""
	case m.Replace != nil && m.Replace.Version != "":
		return m.Replace.Path, m.Replace.Version, m.Dir
	default:
		return m.Path, m.Version, m.Dir
	}
}

func goList(ctx context.Context, root string, s shipped) ([]goPackage, error) {
	cgo := "CGO_ENABLED=0"
	if s.Cgo {
		cgo = "CGO_ENABLED=1"
	}
	args := []string{
		"list", "-buildvcs=false", "-deps", "-tags", strings.Join(s.Tags, ","),
		"-json=ImportPath,Dir,Root,Standard,DepOnly,Module,Imports",
	}
	command := exec.CommandContext(ctx, "go", append(args, s.Packages...)...)
	command.Dir = filepath.Join(root, s.Folder)
	command.Env = append(os.Environ(), "GOOS=linux", "GOWORK=off", "GOFLAGS=", cgo)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("read what the go command says: %w", err)
		}
		packages = append(packages, p)
	}
}
