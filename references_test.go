package transplant_test

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Ids of rules that only mean something beside their definition. Elsewhere the place in the documents is named. The
// patterns are written so that they do not match themselves.
var (
	// retired names documents that are not in the repository, in whatever file.
	retired = regexp.MustCompile(`\bSPE[C]\b|\bDESIG[N](\.md| section)|HOUSE-STYL[E]|KUBERNETES\.m[d]|appendix [C]\b`)
	// tagged is an id with a prefix of its own, or the tag of a source, in whatever file.
	tagged = regexp.MustCompile(`\b(QUIRK|CHECK|CPM|CARE|CLN|MNT)-[A-Z]?\d+|\[S\d(-\d+)?\]`)
	// bare is the id of a rule, an assumption or a clause, in a comment or a document.
	bare = regexp.MustCompile(`\b([A-G]\d{1,2}|O\d{1,2}|Z\d)\b`)

	definition = regexp.MustCompile(`<a id="([^"]+)">`)
	// cited is the path of a document from the root of the repository.
	cited = regexp.MustCompile(`(?:^|[^\w/.-])((?:[\w-]+/)*[\w-]+\.md)(#[\w-]+)?`)
	// remark is what follows the sign for comments in YAML, shell scripts and the like.
	remark = regexp.MustCompile(`(?m)(?:^|\s)#.*$`)
)

// repository is the content of files by their paths from the root.
type repository map[string]string

// anchors of the documents, by path.
type anchors map[string]map[string]bool

// TestReferences_InWhateverFile_LeadSomewhere: a reader of the repository can open whatever a file refers to.
func TestReferences_InWhateverFile_LeadSomewhere(t *testing.T) {
	t.Parallel()
	files := tracked(t)
	found := files.dangling()
	for _, reference := range found {
		t.Error(reference)
	}
	t.Logf("references without a target: %d (in %d files)", len(found), len(files))
	if len(files) < 1000 {
		t.Errorf("%d files were looked at, want all of the repository", len(files))
	}
}

// A file is written with ~ in the middle of what it must not say, so that this one does not say it.
func TestReferences_WithoutATarget_AreFound(t *testing.T) {
	t.Parallel()
	const rules = "# The rules\n\n## Who may run\n\n<a id=\"o3\"></a>\n\n### O3 A fence\n"
	plain := strings.NewReplacer("~", "")
	for name, c := range map[string]struct {
		file, content string
		want          string // "" if nothing is wrong
	}{
		"path with an anchor": {"a.go", "// A (docs/rules.m~d#o3).\npackage a", ""},
		"path with a heading": {"a.go", "// A (docs/rules.m~d#who-may-run).\npackage a", ""},
		"path, no anchor":     {"a.yaml", "why: docs/rules.m~d#o4", "there is no docs/rules.m~d#o4"},
		"path, no file":       {"a.sh", "# see docs/none.m~d", "there is no docs/none.m~d"},
		"path in a string": {"a.go", "package a\n\nconst A = \"docs/none.m~d#o3\"",
			"there is no docs/none.m~d#o3"},
		"address of another's page": {"a.go", "// https://example.org/docs/none.m~d#o3\npackage a", ""},
		"link with an anchor":       {"docs/a.m~d", "It is [fenced](rules.m~d#o3), as [said](../README.m~d).", ""},
		"link to a folder":          {"README.m~d", "See [docs](docs).", ""},
		"picture":                   {"README.m~d", "![a](docs/a.png)", ""},
		"picture, no file":          {"README.m~d", "![a](docs/b.png)", "there is no docs/b.png"},
		"link within the page":      {"docs/a.m~d", "# Title\n\n[here](#title)", ""},
		"link, no anchor":           {"docs/a.m~d", "It is [fenced](rules.m~d#o4).", "there is no rules.m~d#o4"},
		"link, no file": {"docs/a.m~d", "It is [fenced](docs/rules.m~d#o3).",
			"there is no docs/rules.m~d#o3"},
		"link in a table":   {"docs/a.m~d", "| a |\n|---|\n| [b](none.m~d) |", "there is no none.m~d"},
		"link in a heading": {"docs/a.m~d", "## [b](none.m~d)", "there is no none.m~d"},
		"path in code":      {"docs/a.m~d", "Write `docs/rules.m~d#o4`.", "there is no docs/rules.m~d#o4"},
		"path in prose":     {"docs/a.m~d", "See docs/rules.m~d#o4.", "there is no docs/rules.m~d#o4"},
		"chapter": {"a.go", "package a\n\nconst A = \"see SP~EC 9.2\"",
			`"SP~EC" is not in the repository`},
		"chapter in a template": {"a.tmpl", "SP~EC.m~d", `"SP~EC" is not in the repository`},
		"document of somebody's own": {"a.go", "// The roles of DES~IGN section 2.\npackage a",
			`"DES~IGN section" is not in the repository`},
		"quirk":                      {"a.yaml", "why: as QUI~RK-M1", "QUI~RK-M1 says nothing here"},
		"property":                   {"a.json", `{"a": "CP~M-5"}`, "CP~M-5 says nothing here"},
		"source":                     {"a.go", "// As [S~0] has it.\npackage a", "[S~0] says nothing here"},
		"rule in a comment":          {"a.go", "// A is O3.\npackage a", "O3 in a comment"},
		"assumption behind code":     {"a.go", "package a\n\nvar A = 1 // by A7", "A7 in a comment"},
		"rule in a comment of YAML":  {"a.yaml", "a: b # by O11", "O11 in a comment"},
		"rule in a name":             {"a.go", "package a\n\nconst TestO3 = \"O3 fences\"", ""},
		"rule in prose":              {"docs/a.m~d", "It does O3.", "O3 is no link"},
		"rule in a table":            {"docs/a.m~d", "| a |\n|---|\n| by O3 |", "O3 is no link"},
		"rule in code":               {"docs/a.m~d", "The row `O3 fence`.", ""},
		"rule beside its definition": {"docs/a.m~d", "| a |\n|---|\n| <a id=\"a1\"></a>A1 needs A2 |", "A2 is no link"},
		"rule in a link":             {"docs/a.m~d", "It does [O3](rules.m~d#o3).", ""},
		"source without a link":      {"docs/a.m~d", "As [S~0] has it.", "[S~0] is no link"},
		"source with a link":         {"docs/a.m~d", "As [S~0] has it.\n\n[S~0]: rules.m~d", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, want := plain.Replace(c.file), plain.Replace(c.file+": "+c.want)
			files := repository{plain.Replace("README.m~d"): "# All", plain.Replace("docs/rules.m~d"): rules, "docs/a.png": ""}
			files[file] = plain.Replace(c.content)
			got := files.dangling()
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], want)) {
				t.Errorf("got %q, want one that begins with %q", got, want)
			}
		})
	}
}

func TestSlug_IsThatOfGitHub(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"9.2 Rules": "92-rules", "A. Requests and states": "a-requests-and-states", "Who's `who`?": "whos-who",
		"one_two – three": "one_two--three", "Größe": "größe",
	} {
		if got := slug(title); got != want {
			t.Errorf("%q: got %q, want %q", title, got, want)
		}
	}
}

// tracked are the files that git knows, and those that are about to be added. Those that are no text, such as pictures,
// have no content here, but links lead to them.
func tracked(t *testing.T) repository {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("list the files of the repository with git: %v", err)
	}
	files := repository{}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		content, err := os.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted, and not yet committed
		case err != nil:
			t.Fatal(err)
		case utf8.Valid(content) && !strings.Contains(string(content), "\x00"):
			files[name] = string(content)
		default:
			files[name] = ""
		}
	}
	return files
}

// dangling are the references without a target, as "file: what is wrong".
func (r repository) dangling() []string {
	known := anchors{}
	for name, content := range r {
		if strings.HasSuffix(name, ".md") {
			known[name] = anchorsOf(content)
		}
	}
	var found []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		report := func(format string, arguments ...any) {
			found = append(found, name+": "+fmt.Sprintf(format, arguments...))
		}
		content := r[name]
		for _, old := range retired.FindAllString(content, -1) {
			report("%q is not in the repository", old)
		}
		if strings.HasSuffix(name, ".md") {
			r.document(name, known, report)
			continue
		}
		known.cites(content, report)
		for _, id := range tagged.FindAllString(content, -1) {
			report("%s says nothing here: name the place, as docs/ownership.md#o3", id)
		}
		for _, id := range bare.FindAllString(comments(name, content), -1) {
			report("%s in a comment: name the place, as docs/ownership.md#o3", id)
		}
	}
	return found
}

// comments of a file that is no Markdown.
func comments(name, content string) string {
	if !strings.HasSuffix(name, ".go") {
		return strings.Join(remark.FindAllString(content, -1), "\n")
	}
	var all []string
	file, _ := parser.ParseFile(token.NewFileSet(), name, content, parser.ParseComments|parser.SkipObjectResolution)
	for _, group := range file.Comments {
		for _, comment := range group.List {
			all = append(all, comment.Text)
		}
	}
	return strings.Join(all, "\n")
}

// cites checks the documents that a text names by their paths from the root.
func (a anchors) cites(content string, report func(string, ...any)) {
	if !strings.Contains(content, ".md") { // most files do not, and the pattern is slow
		return
	}
	for _, m := range cited.FindAllStringSubmatch(content, -1) {
		file, fragment := m[1], strings.TrimPrefix(m[2], "#")
		if fragment == "" && !strings.HasPrefix(file, "docs/") {
			continue // it may be any file
		}
		if known, exists := a[file]; !exists || fragment != "" && !known[fragment] {
			report("there is no %s%s", file, m[2])
		}
	}
}

// document checks the links of a document, and that ids stand in links, in headings or where they are defined.
func (r repository) document(name string, known anchors, report func(string, ...any)) {
	source := []byte(r[name])
	walk(source, func(node ast.Node) ast.WalkStatus {
		switch n := node.(type) {
		case *ast.Link:
			r.link(name, string(n.Destination), known, report)
		case *ast.Image:
			r.link(name, string(n.Destination), known, report)
		case *ast.CodeSpan:
			known.cites(words(n, source), report)
		case *ast.Heading:
			return ast.WalkContinue
		}
		if node.Type() == ast.TypeBlock && node.FirstChild() != nil && node.FirstChild().Type() == ast.TypeInline {
			prose := prose(node, source)
			for _, id := range append(tagged.FindAllString(prose, -1), bare.FindAllString(prose, -1)...) {
				report("%s is no link", id)
			}
			known.cites(prose, report)
		}
		return ast.WalkContinue
	})
}

// prose is the text of a block without links, code and ids that an anchor before them defines.
func prose(block ast.Node, source []byte) string {
	var out strings.Builder
	defines := false
	var add func(ast.Node)
	add = func(parent ast.Node) {
		for node := parent.FirstChild(); node != nil; node = node.NextSibling() {
			switch n := node.(type) {
			case *ast.Link, *ast.CodeSpan:
				out.WriteString(" … ")
			case *ast.RawHTML:
				defines = strings.Contains(string(n.Segments.Value(source)), "</a>")
				continue
			case *ast.Text:
				value := string(n.Value(source))
				if defines {
					_, value, _ = strings.Cut(value+" ", " ")
				}
				out.WriteString(value)
				if n.SoftLineBreak() || n.HardLineBreak() {
					out.WriteString("\n")
				}
			default:
				add(node)
			}
			defines = false
		}
	}
	add(block)
	return out.String()
}

// link checks the target of a link in a document, unless it is elsewhere in the world.
func (r repository) link(from, target string, known anchors, report func(string, ...any)) {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return
	}
	file, fragment, _ := strings.Cut(target, "#")
	to := from
	if file != "" {
		to = path.Join(path.Dir(from), file)
	}
	_, exists := r[to]
	for name := range r {
		if exists {
			break
		}
		exists = strings.HasPrefix(name, to+"/")
	}
	if !exists || fragment != "" && strings.HasSuffix(to, ".md") && !known[to][fragment] {
		report("there is no %s", target)
	}
}

// anchorsOf a document are those that it defines, and those that GitHub makes of its headings.
func anchorsOf(content string) map[string]bool {
	found := map[string]bool{}
	for _, m := range definition.FindAllStringSubmatch(content, -1) {
		found[m[1]] = true
	}
	source, times := []byte(content), map[string]int{}
	walk(source, func(node ast.Node) ast.WalkStatus {
		heading, is := node.(*ast.Heading)
		if !is {
			return ast.WalkContinue
		}
		id := slug(words(heading, source))
		if n := times[id]; n > 0 {
			found[fmt.Sprintf("%s-%d", id, n)] = true
		} else {
			found[id] = true
		}
		times[id]++
		return ast.WalkSkipChildren
	})
	return found
}

// words are the text within a node, without its marks.
func words(node ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, is := n.(*ast.Text); is && entering {
			out.Write(t.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}

// slug is the anchor that GitHub makes of a heading.
func slug(title string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case c == '-' || c == '_' || unicode.IsLetter(c) || unicode.IsNumber(c):
			return unicode.ToLower(c)
		}
		return -1
	}, title)
}

// walk visits the nodes of a document, parents first.
func walk(source []byte, visit func(ast.Node) ast.WalkStatus) {
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser()
	_ = ast.Walk(markdown.Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		return visit(n), nil
	})
}
