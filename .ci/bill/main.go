// Command bill writes a bill of materials (CycloneDX, JSON) for each Go module of this repository whose code runs with
// its users. With -check it also reports the licence of each module in them, and fails on one that does not fit
// Apache-2.0 unless bill.yaml argues for it.
//
// It reads what the go command would compile, so it needs no build. It knows Go modules only: what an image takes from
// Debian is not in the bills, and a licence that is named in a source file alone is not found.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	root := flag.String("root", filepath.Join("..", ".."), "folder of the repository")
	rulesFile := flag.String("rules", "bill.yaml", "file of the modules, the accepted licences, and the exceptions")
	out := flag.String("out", filepath.Join("..", "..", "out", "bill"), "folder for the output")
	check := flag.Bool("check", false, "report the licences, and fail if one is not accepted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *root, *rulesFile, *out, *check)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// run writes NAME.cdx.json for each module that the rules name into out and, with check, licenses.md.
func run(ctx context.Context, root, rulesFile, out string, check bool) error {
	r, err := readRules(rulesFile)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make the folder for bills: %w", err)
	}
	var bills []*bill
	for _, s := range r.Modules {
		b, err := list(ctx, root, s)
		if err != nil {
			return err
		}
		file := filepath.Join(out, s.Name+".cdx.json")
		if err := b.write(file, r.isSPDX); err != nil {
			return fmt.Errorf("write the bill %q: %w", file, err)
		}
		fmt.Printf("%s: %d modules\n", file, len(b.modules))
		bills = append(bills, b)
	}
	if !check {
		return nil
	}
	report, unfit := r.judge(bills)
	file := filepath.Join(out, "licenses.md")
	if err := os.WriteFile(file, []byte(report), 0o600); err != nil {
		return errors.Join(unfit, fmt.Errorf("write the report of licences: %w", err))
	}
	fmt.Println(file)
	return unfit
}
