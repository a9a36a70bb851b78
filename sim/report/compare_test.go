package report_test

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/report"
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
	for _, want := range []string{"alpha to b: 21.0 s – 37.0 s", "a: fire", "RTO 16.000 s", "lost writes 3",
		"0 s is the first fault", ">alpha API</text>"} {
		if !strings.Contains(string(content), want) {
			t.Errorf("the picture lacks %q:\n%s", want, content)
		}
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
