package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// A person who looks into a run: clicks, drags, types, and prints.
func TestTheReportInABrowser(t *testing.T) {
	t.Parallel()
	w := browse(t)
	folder := lossy(t, 120, 3)
	w.open(fileURL(folder, report.FileName))
	w.picture("light")
	dark := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
		Value: "dark"}}}
	get(w, "look at it in the dark", send(emulation.SetEmulatedMedia, dark))
	w.picture("dark")
	get(w, "look at it in the light", send(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{}))

	if title := ask[string](w, "document.title"); title != "Failed: tale" {
		t.Errorf("title %q", title)
	}
	rows := ask[[]string](w, `[...document.querySelectorAll("#rows .label")].map(l => l.lastChild.textContent)`)
	if want := "steps faults notes alpha operation phases API writes nodes conditions garden seed a seed b cloud " +
		"control-planes-a control-planes-b extensions-a extensions-b garden-controller-manager gardenlet-a gardenlet-b " +
		"gateway-a gateway-b nodes observer operator user"; strings.Join(rows, " ") != want {
		t.Errorf("rows %q, want %q", strings.Join(rows, " "), want)
	}
	if why := ask[string](w, `[...document.querySelectorAll(".measure")].map(
		m => m.querySelector(".meaning")?.textContent || "no reason").join("; ")`); strings.Contains(why, "no reason") ||
		!strings.Contains(why, "how long users cannot work after a loss") {
		t.Errorf("the measures matter because: %s", why)
	}
	if bar := ask[string](w,
		`document.querySelector('[data-row="scenario/faults"] .in').textContent`); bar != "fire, 12 hits" {
		t.Errorf("the fault is labelled %q", bar)
	}
	if bar := ask[string](w,
		`document.querySelector('[data-row="clusters/seed-b"] .outside')?.textContent`); bar != "alpha epoch 2 Serving" {
		t.Errorf("what is too short for its label has %q beside it", bar)
	}
	clickZoom(t, w)
	clickFilter(t, w)
	clickProof(t, w)
	pressKeys(t, w)
	clickTheme(t, w)
	readAloud(t, w)
	printIt(t, w)
	narrow(t, w)
	if wrong := w.complaints(); len(wrong) > 0 {
		t.Errorf("the page complained: %q", wrong)
	}
}

// barsBelow says whether the bars of the phases are to be seen, each below the name of its phase.
const barsBelow = `(() => {
	const rows = [...document.querySelectorAll('[aria-labelledby="phases-title"] tbody tr')]
	const below = row => {
		const name = document.createRange(), bar = row.querySelector(".share").getBoundingClientRect()
		name.selectNodeContents(row.querySelector("th"))
		return bar.top >= name.getBoundingClientRect().bottom && bar.bottom <= row.getBoundingClientRect().bottom + 1 &&
			bar.width > 300 && bar.height > 3
	}
	return rows.length > 2 && rows.every(below) &&
		rows.some(row => row.querySelector(".share rect").getBoundingClientRect().width > 20)
})()`

// narrow holds the page in the hand: what has happened can be read without being scrolled sideways.
func narrow(t *testing.T, w *window) {
	for _, width := range []int64{500, 420} {
		w.do("hold it in the hand", chromedp.EmulateViewport(width, 900))
		w.until(fmt.Sprintf(`document.getElementById("rows").viewBox.baseVal.width < %d`, width+10))
		if ask[bool](w, fmt.Sprintf("document.documentElement.scrollWidth > %d", width+1)) {
			t.Errorf("%d pixels wide it must be scrolled sideways", width)
		}
		if !ask[bool](w, barsBelow) {
			t.Errorf("%d pixels wide the phases have no bars below their names", width)
		}
		w.picture(fmt.Sprint("narrow-", width))
	}
}

const shownWindow = `document.getElementById("window").textContent`

func clickZoom(t *testing.T, w *window) {
	if got := ask[string](w, shownWindow); got != "0.00 s to 40.00 s" {
		t.Errorf("the picture begins with %q", got)
	}
	w.do("zoom in", chromedp.Click(chromedp.CSS(`[data-zoom="in"]`)))
	w.until(shownWindow + ` === "8.00 s to 32.00 s"`)
	w.do("see later", chromedp.Click(chromedp.CSS(`[data-zoom="right"]`)))
	w.until(shownWindow + ` === "15.20 s to 39.20 s"`)
	w.do("see all", chromedp.Click(chromedp.CSS(`[data-zoom="all"]`)))
	w.until(shownWindow + ` === "0.00 s to 40.00 s"`)
	w.do("see the faults", chromedp.Click(chromedp.CSS(`[data-zoom="faults"]`)))
	w.until(shownWindow + ` === "8.50 s to 40.00 s"`)
	// Where 10 s and 20 s are in the picture, while all of it is shown.
	w.do("see all", chromedp.Click(chromedp.CSS(`[data-zoom="all"]`)))
	w.until(shownWindow + ` === "0.00 s to 40.00 s"`)
	w.do("bring the picture into sight", chromedp.ScrollIntoView(chromedp.CSS("#rows .row")))
	box := ask[[]float64](w,
		`(() => { const b = document.getElementById("rows").getBoundingClientRect(), w = b.width - 178 - 14; return `+
			`[b.left + 178 + w / 4, b.left + 178 + w / 2, b.top + 60] })()`)
	mouse := func(kind input.DispatchMouseEventType, x float64) step {
		return chromedp.MouseEvent(kind, x, box[2], chromedp.ButtonLeft, chromedp.ClickCount(1))
	}
	w.do("drag from 10 s to 20 s", mouse(chromedp.MousePressed, box[0]), mouse(chromedp.MouseMoved, (box[0]+box[1])/2),
		mouse(chromedp.MouseMoved, box[1]), mouse(chromedp.MouseReleased, box[1]))
	w.until(shownWindow + `.startsWith("10.0") && ` + shownWindow + `.includes("to 20.0")`)
	if hash := ask[string](w, "location.hash"); !strings.HasPrefix(hash, "#t=10.0") {
		t.Errorf("the address does not name what is shown: %q", hash)
	}
	w.do("see all", chromedp.Click(chromedp.CSS(`[data-zoom="all"]`)))
	w.until(shownWindow + ` === "0.00 s to 40.00 s"`)
}

const shownEntries = `document.querySelectorAll("#entries .entry").length`

func clickFilter(t *testing.T, w *window) {
	w.until(`+document.getElementById("count").textContent > 100`)
	all := ask[int](w, `+document.getElementById("count").textContent`)
	if entries := ask[int](w, shownEntries); entries == 0 || entries > 60 {
		t.Errorf("%d of %d entries are in the document", entries, all)
	}
	w.do("type", chromedp.SendKeys(chromedp.CSS("#filter"), "fire"))
	w.until(`document.getElementById("count").textContent.startsWith("2 of ")`)
	w.do("clear", chromedp.Click(chromedp.CSS("#clear")))
	w.do("problems only", chromedp.Click(chromedp.CSS("#problems")))
	// Three lost writes, the migration that was given up, and the fault.
	w.until(`document.getElementById("count").textContent.startsWith("5 of ")`)
	w.do("clear", chromedp.Click(chromedp.CSS("#clear")))
	w.do("one kind", chromedp.Click(chromedp.CSS(`[data-kind="EpochSeen"]`)))
	w.until(`document.getElementById("count").textContent.startsWith("13 of ")`)
	w.do("clear", chromedp.Click(chromedp.CSS("#clear")))
	w.do("one row", chromedp.Evaluate[chromedp.Void](
		`document.querySelector('[data-list="actors/gardenlet-b"]').dispatchEvent(new MouseEvent("click", {bubbles: true}))`))
	w.until(`document.getElementById("count").textContent.startsWith("1 of ") && ` +
		`!document.getElementById("row-filter").hidden`)
	w.do("clear", chromedp.Click(chromedp.CSS("#clear")))
	w.until(`+document.getElementById("count").textContent > 100`)
}

func clickProof(t *testing.T, w *window) {
	number := ask[string](w, `document.querySelector("#violation-1 .proof a").dataset.event`)
	w.do("follow the proof", chromedp.Click(chromedp.CSS("#violation-1 .proof a")))
	w.until(`document.querySelector("#entries .entry[aria-selected=true]")?.dataset.event === "` + number + `"`)
	w.until(`!document.getElementById("detail").hidden && document.querySelectorAll("#rows .chosen-line").length === 1`)
	if text := ask[string](w, `document.getElementById("detail").textContent`); !strings.Contains(text,
		"write 118: create w-118") || !strings.Contains(text, "timeline.jsonl") {
		t.Errorf("the detail is %q", text)
	}
	w.do("see all", chromedp.Click(chromedp.CSS(`[data-zoom="all"]`)))
	w.until(`document.querySelector("#axis .flag") !== null`)
	w.do("follow the flag",
		chromedp.Evaluate[chromedp.Void](
			`document.querySelector("#axis .flag").dispatchEvent(new MouseEvent("click", {bubbles: true}))`))
	if id := ask[string](w, "document.activeElement.id"); id != "violation-1" {
		t.Errorf("the flag leads to %q", id)
	}
}

func pressKeys(t *testing.T, w *window) {
	press := func(key string) step { return chromedp.KeyEvent(key) }
	w.do("leave", press(kb.Escape), press("0"))
	w.until(shownWindow + ` === "0.00 s to 40.00 s" && document.getElementById("detail").hidden`)
	w.do("zoom by keys", press("+"))
	w.until(shownWindow + ` === "8.00 s to 32.00 s"`)
	w.do("go to the first proof", press("n"))
	w.until(`document.getElementById("announce").textContent.includes("write 118")`)
	w.do("rows by keys", chromedp.Focus(chromedp.CSS("#rows")), press("0"), press(kb.ArrowDown), press(kb.ArrowDown))
	w.until(`document.getElementById("announce").textContent.startsWith("faults: fire, 12 hits from 10.0 s to 38.0 s")`)
	w.do("list the row", press(kb.Enter))
	w.until(`document.getElementById("count").textContent.startsWith("2 of ")`)
	w.do("help", press(kb.Escape), press("?"))
	w.until(`document.getElementById("keys").open`)
	w.do("close", chromedp.Click(chromedp.CSS("#keys button")))
	w.do("find", press("/"))
	if id := ask[string](w, "document.activeElement.id"); id != "filter" {
		t.Errorf("the filter has not the focus, but %q", id)
	}
	w.do("leave", press(kb.Escape))
}

func clickTheme(t *testing.T, w *window) {
	paper := func() string { return ask[string](w, "getComputedStyle(document.body).backgroundColor") }
	light := paper()
	w.do("light, then dark", chromedp.Click(chromedp.CSS("#theme")), chromedp.Click(chromedp.CSS("#theme")))
	if dark := paper(); dark == light {
		t.Errorf("dark is %s, as light", dark)
	}
	w.do("as the system", chromedp.Click(chromedp.CSS("#theme")))
	if again := paper(); again != light {
		t.Errorf("as the system is %s, before it was %s", again, light)
	}
}

// readAloud looks at the page as a screen reader does.
func readAloud(t *testing.T, w *window) {
	tree := get(w, "read the tree", send(accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}))
	value := func(v *accessibility.Value) string {
		if v == nil {
			return ""
		}
		return strings.Trim(string(v.Value), `"`)
	}
	named := map[string]int{}
	for _, n := range tree.Nodes {
		role, name := value(n.Role), value(n.Name)
		if n.Ignored {
			continue
		}
		if (role == "button" || role == "checkbox" || role == "searchbox" || role == "link" || role == "grid") && name == "" {
			t.Errorf("a %s has no name", role)
		}
		if role == "heading" || role == "listitem" && (strings.HasPrefix(name, "alpha API: ") || strings.HasPrefix(name,
			"alpha writes: ")) {
			named[name]++
		}
	}
	for _, want := range []string{"tale", "Violations", "Measures", "Timeline", "Phases", "Faults", "Promises",
		"The run in lines",
		"alpha writes: 237 writes acknowledged from 2.5 s to 35.9 s; 120 writes without an answer from 10.2 s to 19.9 s; " +
			"3 writes acknowledged but lost from 9.8 s to 9.9 s",
		"API: reachable from 2.1 s to 9.9 s; unreachable from 9.9 s to 26.0 s; reachable from 26.0 s to 39.0 s"} {
		found := false
		for name := range named {
			found = found || strings.HasSuffix(name, want)
		}
		if !found {
			t.Errorf("nobody reads %q aloud; read were %v", want, named)
		}
	}
}

func printIt(t *testing.T, w *window) {
	paper := get(w, "print", chromedp.PrintToPDF(chromedp.PDFPrintBackground()))
	if pages := strings.Count(string(paper), "/Type /Page\n"); !strings.HasPrefix(string(paper), "%PDF-") || pages < 2 ||
		pages > 12 {
		t.Errorf("it prints as %d pages", pages)
	}
	w.keep("paper.pdf", paper)
}

// Of many shoots each has one row at first; the others are unfolded by keys, and on paper nothing is folded away.
func TestManyShootsAreFoldedInABrowser(t *testing.T) {
	t.Parallel()
	w := browse(t)
	folder := filepath.Join(t.TempDir(), "seven")
	one := newRecording(t, folder)
	for i := range 6 {
		name := fmt.Sprintf("shoot-%d", i+1)
		one.at(0.1, "observer", name, timeline.ShootSeen{UID: name, SpecSeed: "a", StatusSeed: "a",
			Operation: timeline.Operation{Type: "Create", State: "Succeeded"}})
		one.at(0.2, "observer", name, timeline.NodeSeen{Name: "node", UID: name, Ready: "True"})
	}
	one.begin(20)
	one.finish(20, 3)
	if err := report.Write(folder); err != nil {
		t.Fatal(err)
	}
	w.open(fileURL(folder, report.FileName))
	const (
		rows   = `document.querySelectorAll('#rows [data-row^="shoots/"]').length`
		closed = `document.querySelectorAll("details:not([open])").length`
		said   = `document.getElementById("announce").textContent`
		folds  = `document.querySelector('[data-fold="alpha"]').getAttribute("aria-expanded")`
	)
	if n, is := ask[int](w, rows), ask[string](w, folds); n != 7 || is != "false" {
		t.Errorf("%d rows of seven shoots are shown; alpha's are expanded: %s", n, is)
	}
	press := func(key string) step { return chromedp.KeyEvent(key) }
	w.do("go to alpha", chromedp.Focus(chromedp.CSS("#rows")), press(kb.ArrowDown), press(kb.ArrowDown),
		press(kb.ArrowDown), press(kb.ArrowDown))
	w.until(said + `.startsWith("alpha operation: ") && ` + said + `.endsWith("; 5 rows of alpha folded away")`)
	w.do("unfold", press(" "))
	w.until(rows + ` === 12 && ` + folds + ` === "true" && ` + said + ` === "Rows of alpha shown: 5 more rows"`)
	w.do("go on", press(kb.ArrowDown))
	w.until(said + `.startsWith("alpha phases: ")`)

	w.do("count what is printed",
		chromedp.Evaluate[chromedp.Void](`addEventListener("beforeprint", () => { window.printed = [`+rows+`, `+closed+
			`]; })`))
	get(w, "print", chromedp.PrintToPDF())
	if got := ask[[]int](w, "window.printed"); !slices.Equal(got, []int{18, 0}) {
		t.Errorf("printed were %v: rows, and details that are closed", got)
	}
	w.until(rows + ` === 12 && ` + closed + ` > 0`)

	w.do("fold", chromedp.Focus(chromedp.CSS("#rows")), press(" "))
	w.until(rows + ` === 7 && document.querySelector("#rows .chosen").dataset.row === "shoots/alpha-operation"`)
	if wrong := w.complaints(); len(wrong) > 0 {
		t.Errorf("the page complained: %q", wrong)
	}
}

// realRuns names folders of runs whose reports are to be looked at in the browser too, separated like a PATH.
const realRuns = "TRANSPLANT_REPORT_RUNS"

// brokenWords are the headings of tables, and cells of comparisons, that are seen and have more lines than words.
const brokenWords = `[...document.querySelectorAll("th, .compare td")].filter(cell => cell.checkVisibility() &&
	!cell.querySelector(".visually-hidden")).filter(cell => {
	const words = document.createRange()
	words.selectNodeContents(cell)
	const lines = new Set([...words.getClientRects()].map(r => Math.round(r.top)))
	return lines.size > cell.innerText.trim().split(/[\s-]+/).length
}).map(cell => cell.textContent)`

// Reports of real runs, where the environment names some: pictures of them are kept, and each must be painted without
// complaint.
func TestReportsOfRealRunsInABrowser(t *testing.T) {
	t.Parallel()
	var folders []string
	for _, pattern := range filepath.SplitList(os.Getenv(realRuns)) {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s names %q, where nothing is: %v", realRuns, pattern, err)
		}
		folders = append(folders, found...)
	}
	if len(folders) == 0 {
		t.Skipf("%s names no folders of runs", realRuns)
	}
	w := browse(t)
	for _, folder := range folders {
		path := filepath.Join(t.TempDir(), filepath.Base(folder)+".html")
		out, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := report.Render(out, load(t, folder)); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		w.open("file://" + path)
		if rows := ask[int](w, `document.querySelectorAll("#rows .row").length`); rows < 5 {
			t.Errorf("%s has %d rows", folder, rows)
		}
		w.picture(filepath.Base(folder))
		for _, width := range []int64{1400, 800, 500} {
			w.do("change the width", chromedp.EmulateViewport(width, 900))
			if ask[bool](w, fmt.Sprintf("document.documentElement.scrollWidth > %d", width+1)) {
				t.Errorf("%s, %d pixels wide, must be scrolled sideways", folder, width)
			}
			if broken := ask[[]string](w, brokenWords); len(broken) > 0 {
				t.Errorf("%s, %d pixels wide, breaks within words of headings: %q", folder, width, broken)
			}
		}
	}
	if wrong := w.complaints(); len(wrong) > 0 {
		t.Errorf("the pages complained: %q", wrong)
	}
}
