package report_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

func TestRunsSideBySide(t *testing.T) {
	t.Parallel()
	first, second := lossy(t, 40, 3), lossy(t, 10, 0)
	path := filepath.Join(filepath.Dir(first), report.ComparisonName)
	if err := report.WriteComparison(path, []string{first, second}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	elements, text := parse(t, content)
	for _, want := range []string{
		"2 runs side by side", "0 s is the first fault", "lost writes 3 0 ★ -3 (-100 %)", "RTO 16.000 s 16.000 s RPO",
		"NoLostWrite 3 violations kept", "started 2026-11-21 20:00:00 2026-11-21 20:00:00",
		"recovery.firstWrite 16.000 16.000", "API downtime 16.188 s ★ 16.750 s +0.562 (+3 %)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the comparison lacks %q:\n%s", want, text)
		}
	}
	if elements["img"] > 0 || elements["script"] > 0 || elements["rect"] < 10 {
		t.Errorf("elements %v", elements)
	}
	if link := `href="lossy/report.html"`; !strings.Contains(string(content), link) {
		t.Errorf("the comparison does not lead to the reports: there is no %s", link)
	}
}

// A run that is not over can stand beside others: what is not known of it is not shown as 0.
func TestARunThatGoesOnBesideOthers(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "live")
	newRecording(t, folder).begin(10)
	path := filepath.Join(t.TempDir(), "c.html")
	if err := report.WriteComparison(path, []string{folder, lossy(t, 10, 0)}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, text := parse(t, content); !strings.Contains(text, "RTO – 16.000 s RPO") || !strings.Contains(text,
		"NoLostWrite – kept") {
		t.Errorf("the comparison is\n%s", text)
	}
}

// A better value is one that was measured: where one of the runs has none, or did not look all the time, no run has the
// best.
func TestCompare_NumberThatARunLacks_HasNoBest(t *testing.T) {
	t.Parallel()
	first, second := lossy(t, 40, 0), lossy(t, 10, 0)
	change := func(folder string, change func(*verdict.Report)) {
		t.Helper()
		path := filepath.Join(folder, verdict.FileName)
		content, err := os.ReadFile(path)
		judged := &verdict.Report{}
		if err == nil {
			err = json.Unmarshal(content, judged)
		}
		if err != nil {
			t.Fatal(err)
		}
		change(judged)
		if content, err = json.Marshal(judged); err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	compared := func() string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "c.html")
		if err := report.WriteComparison(path, []string{first, second}); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, text := parse(t, content)
		return text
	}
	faster := 12.0
	change(first, func(r *verdict.Report) { r.Measures.RTOSeconds = &faster })
	if text := compared(); !strings.Contains(text, "RTO 12.000 s ★ 16.000 s") {
		t.Errorf("the best of two is not marked:\n%s", text)
	}
	unseen := 3.0
	change(first, func(r *verdict.Report) { r.Measures.APIUnobservedSeconds = &unseen })
	change(second, func(r *verdict.Report) { r.Measures.RTOSeconds = nil })
	if text := compared(); !strings.Contains(text, "RTO 12.000 s –") || !strings.Contains(text,
		"API downtime 16.188 s 16.750 s") {
		t.Errorf("a number is the best beside one that was not measured:\n%s", text)
	}
}

func TestWriteImage_RunWithALossOfASeed_ShowsWhereAndWhen(t *testing.T) {
	t.Parallel()
	folder := lossy(t, 40, 3)
	if err := report.WriteImage(folder); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(folder, report.ImageName))
	if err != nil {
		t.Fatal(err)
	}
	var root struct {
		XMLName xml.Name
		Title   string `xml:"title"`
	}
	if err := xml.Unmarshal(content, &root); err != nil {
		t.Fatalf("it is no XML: %v\n%s", err, content)
	}
	if root.XMLName.Space != "http://www.w3.org/2000/svg" || root.Title != "Failed: tale" {
		t.Errorf("it is a %s with the title %q", root.XMLName.Local, root.Title)
	}
	for _, want := range []string{"alpha to b: 11.0 s – 27.0 s", "a: fire", "RTO 16.000 s", "lost writes 3",
		"0 s is the first fault", ">alpha API</text>"} {
		if !strings.Contains(string(content), want) {
			t.Errorf("the picture lacks %q:\n%s", want, content)
		}
	}
}

// In the picture of nine seeds nothing is cut off, and it says how many moves it leaves out. A fault of an actor harms
// the seed that the actor runs on, and a move that nobody saw begin has no beginning.
func TestWriteImage_NineSeedsAndALongReason_CutsNothingOff(t *testing.T) {
	t.Parallel()
	const many = `{"apiVersion":"transplant.dev/v1alpha1","kind":"Scenario","metadata":{"name":"nine"},
"spec":{"why":"many",
"landscape":{"seeds":[{"name":"a"},{"name":"eu-a"},{"name":"c"},{"name":"d"},{"name":"e"},{"name":"f"},
{"name":"g"},
{"name":"h"},{"name":"i"}],"shoots":[{"name":"alpha","seed":"a"}]}}}`
	one := record(t, filepath.Join(t.TempDir(), "nine"), many)
	one.seen(1, "a", "a", "Create", "Succeeded", 100)
	one.at(2, "operator", "halt", timeline.FaultInjected{Fault: "stop(gardenlet-eu-a)"})
	seeds := []string{"a", "eu-a", "c", "d", "e", "f", "g", "h"}
	for i, seed := range seeds[1:] {
		if i > 0 {
			one.seen(float64(4*i), seed, seeds[i], "Migrate", "Processing", 10)
		}
		one.seen(float64(4*i+3), seed, seed, "Restore", "Succeeded", 100)
	}
	reason := strings.TrimSpace(strings.Repeat("there was no answer ", 60))
	one.at(40, "", "", timeline.RunEnded{Error: reason})
	one.judge()
	if err := errors.Join(report.Write(one.folder), report.WriteImage(one.folder)); err != nil {
		t.Fatal(err)
	}
	picture, unread := os.ReadFile(filepath.Join(one.folder, report.ImageName))
	page, err := os.ReadFile(filepath.Join(one.folder, report.FileName))
	if err := errors.Join(err, unread); err != nil {
		t.Fatal(err)
	}
	var root struct {
		Width int `xml:"width,attr"`
		Group struct {
			Texts []struct {
				Lines []string `xml:"tspan"`
			} `xml:"text"`
		} `xml:"g"`
	}
	if err := xml.Unmarshal(picture, &root); err != nil {
		t.Fatalf("it is no XML: %v\n%s", err, picture)
	}
	if root.Width != 1852 { // nine places of 150 and eight gaps of 60, with 1 and 10 on either side
		t.Errorf("it is %d wide", root.Width)
	}
	lines := root.Group.Texts[1].Lines
	if len(lines) < 3 || !strings.HasSuffix(lines[2], " …") {
		t.Errorf("the reason is on the lines %q", lines)
	}
	for _, line := range lines {
		if len([]rune(line)) > 264 {
			t.Errorf("a line has %d letters: %s", len([]rune(line)), line)
		}
	}
	for _, want := range []string{
		"alpha to eu-a: by 1.0 s<", "alpha to c: 2.0 s – 5.0 s<", ">and 1 more<", ">eu-a: halt<", ">a<",
	} {
		if !strings.Contains(string(picture), want) {
			t.Errorf("the picture lacks %q:\n%s", want, picture)
		}
	}
	if strings.Contains(string(picture), "alpha to h") {
		t.Error("the picture has a seventh move")
	}
	if want := `alpha to g: 20.0 s – 23.0 s; and 1 more"`; !strings.Contains(string(page), want) {
		t.Errorf("the page lacks %s", want)
	}
}

// The page has the same map, in words, too, and the phases one after the other.
func TestPage_RunWithALossOfASeed_HasMapAndWaterfall(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(lossy(t, 40, 3), report.FileName))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`aria-label="garden; a (fault fire); b with alpha; alpha to b: 21.0 s – 37.0 s"`,
		// recovery.detected came 11 s and ownerMoved 12.9 s after the fault; steady, the last, after 29 s
		`<rect x="37.9" width="6.6"`,
	} {
		if !strings.Contains(string(content), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
