package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/report"
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
