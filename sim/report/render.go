package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/transplant-sim/transplant/api/userfile"
	"github.com/transplant-sim/transplant/sim/durable"
)

// FileName of the report in a run's folder.
const FileName = "report.html"

//go:embed page
var pageFiles embed.FS

// assets is what every page carries in itself.
type assets struct {
	Style  template.CSS
	Script template.JS
}

var (
	theAssets   = assets{Style: template.CSS(join("*.css")), Script: script("*.js")}
	indexAssets = assets{Style: template.CSS(join("*.css")), Script: script("index/*.js")}
)

// Style is that of all pages, for those of others.
func Style() template.CSS { return theAssets.Style }

// script of the embedded files that match; their names are nobody else's.
func script(pattern string) template.JS {
	return template.JS("(() => {\n\"use strict\";\n" + join(pattern) + "})();\n")
}

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"percent": func(share float64) string { return fmt.Sprintf("%.1f", share) },
	"clock":   clock,
	"policy":  policy,
	"plus":    func(a, b int) int { return a + b },
	"dict": func(pairs ...any) map[string]any { // for templates that need two things
		all := map[string]any{}
		for i := 0; i+1 < len(pairs); i += 2 {
			all[fmt.Sprint(pairs[i])] = pairs[i+1]
		}
		return all
	},
}).ParseFS(pageFiles, "page/*.html"))

// join the embedded files that match, in the order of their names.
func join(pattern string) string {
	names, err := fs.Glob(pageFiles, "page/"+pattern)
	if err != nil {
		panic(err) // the pattern is a literal
	}
	var all strings.Builder
	for _, name := range names {
		content, err := pageFiles.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		all.Write(content)
	}
	return all.String()
}

// policy is the page's Content-Security-Policy: its own script and style, and nothing from anywhere. A page that is
// followed may ask the server that it came from.
func policy(a assets, follow string) string {
	connect := "'none'"
	if follow != "" {
		connect = "'self'"
	}
	return fmt.Sprintf("default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src %s; connect-src %s; "+
		"base-uri 'none'; form-action "+connect,
		hash(string(a.Script)), connect)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Render the report of a run, as a file that nobody keeps up to date.
func Render(out io.Writer, run *Run) error {
	p := pageOf(run)
	if run.Live() {
		p.Headline = "The run went on when this page was made. " + p.Headline
	}
	if err := pages.ExecuteTemplate(out, "run.html", p); err != nil {
		return fmt.Errorf("render the report of %q: %w", run.Name, err)
	}
	return nil
}

// Write the report of the run in a folder into it.
func Write(folder string) error {
	run, err := Load(folder)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(folder, FileName), func(out io.Writer) error { return Render(out, run) })
}

// writeFile puts a whole file in its place: nobody ever sees half of one.
func writeFile(path string, write func(io.Writer) error) error {
	if err := userfile.Check(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // a device would be replaced
		return fmt.Errorf("write the report: %w", err)
	}
	return durable.Disk{}.Write(filepath.Dir(path), durable.File{Name: filepath.Base(path), Write: write})
}
