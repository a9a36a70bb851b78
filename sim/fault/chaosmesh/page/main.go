// Command page writes docs/chaos-mesh.md. It is called by go generate.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"text/template"

	"github.com/transplant-sim/transplant/sim/fault/chaosmesh"
)

//go:embed chaos-mesh.md.tmpl
var text string

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func write(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: %s PAGE", os.Args[0])
	}
	var rows struct{ Can, Never []chaosmesh.Support }
	for _, s := range chaosmesh.Supports() {
		if s.Never != "" {
			rows.Never = append(rows.Never, s)
		} else {
			rows.Can = append(rows.Can, s)
		}
	}
	page, err := template.New("page").Parse(text)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, rows); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return os.WriteFile(args[0], out.Bytes(), 0o644)
}
