package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func expectedFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "known.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const expectedHead = "apiVersion: transplant.dev/v1alpha1\nkind: ExpectedFailures\nfailures:\n"

func TestReadExpected_Mistakes_NameLineFieldAndRemedy(t *testing.T) {
	t.Parallel()
	kinds := []string{"Network/calico", "Extension/x"}
	for text, want := range map[string]string{
		"":             "known.yaml:1: ",
		"kind: [":      "known.yaml:",
		expectedHead:   "known.yaml:1: failures: has no entry, such as",
		"failures: []": `known.yaml:1: apiVersion: must be transplant.dev/v1alpha1, and not ""`,
		expectedHead + "- {clause: Z9, reason: r}":               "known.yaml:4: failures[0].clause: there is no clause",
		expectedHead + "- {clause: B4, kind: Netwrk, reason: r}": "failures[0].kind: the extension does not",
		expectedHead + "- {clause: B4, kind: Network/x}":         "known.yaml:4: failures[0].reason: is missing; say why",
		expectedHead + "- {clause: B4, reasn: r}":                "known.yaml:4: field reasn not found; the file",
		expectedHead + "- {clause: [B4], reason: r}":             "known.yaml:4: ",
		expectedHead + "- {clause: B4, point: p, reason: r}":     "failures[0].point: only B17 has crash points",
		expectedHead + "- {clause: B17, point: late, reason: r}": `there is no point "late"; one is "migrate after write 3"`,
		expectedHead + "- &a {clause: b4, reason: r}\n\n- *a":    "known.yaml:4: failures[1]: lists B4 again; leave one",
		expectedHead + "- {clause: B4, reason: r}\n---\nkind: x": "known.yaml:",
		expectedHead + "- {clause: B4, clause: B5, reason: r}\n": "known.yaml:4: ",
		expectedHead + "- {clause: A1, reason: r}\nreason: none": "known.yaml:5: field reason not found",
	} {
		found, err := ReadExpected(expectedFile(t, text), kinds)
		if err == nil || !strings.Contains(err.Error(), want) || len(found) > 0 {
			t.Errorf("%q: %v, %v; want %q", text, found, err, want)
		}
	}
	path := expectedFile(t, expectedHead+
		"- clause: b17\n  kind: network\n  point: restore after write 0\n  reason: issue 7\n"+
		"- {clause: B4, kind: Extension/x, reason: 'no: time'}\n")
	got, err := ReadExpected(path, kinds)
	want := []ExpectedFailure{
		{Clause: "B17", Kind: "network", Point: "restore after write 0", Reason: "issue 7", File: path, Line: 4},
		{Clause: "B4", Kind: "Extension/x", Reason: "no: time", File: path, Line: 8},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// found is a report of what was tried: a clause is broken by Network/n and kept by Extension/e, and Worker has no
// object. Network/n differs at two of three crash points.
func found() *Report {
	broken, kept, open := breaks("broken"), conforms, unknown("not seen")
	crashes := breaks("migrate after write 0: broken")
	crashes.Points = []PointFinding{
		{Point: "migrate after write 0", Finding: breaks("migrate after write 0: broken")},
		{Point: "migrate after write 1", Finding: breaks("migrate after write 1: broken")},
		{Point: "restore after write 0", Finding: kept}}
	return &Report{Extension: "x", Kinds: []KindReport{
		{Kind: "Network", Type: "n", Findings: map[string]Finding{"B4": broken, "A1": kept, "A2": open,
			"C2": noMatter("no state"), ByCrashes: crashes}},
		{Kind: "Extension", Type: "e", Findings: map[string]Finding{"B4": kept, "A1": kept, "A2": kept, ByCrashes: kept}},
		{Kind: "Worker", Type: "w", Reason: "no object"},
	}}
}

func TestExpect_ListedFailure_IsKnown(t *testing.T) {
	t.Parallel()
	kinds := []string{"Network/n", "Extension/e", "Worker/w", "DNSRecord/d"} // the last was left out by a flag
	const first, second = "migrate after write 0: broken", "migrate after write 1: broken"
	entry := func(clause, kind, point string) ExpectedFailure {
		return ExpectedFailure{Clause: clause, Kind: kind, Point: point, Reason: "issue " + clause}
	}
	for name, c := range map[string]struct {
		entries  []ExpectedFailure
		known    string // clauses of Network/n
		outdated string
		reason   string // of its crashes
	}{
		"nothing listed": {nil, "", "", first},
		"a failure":      {[]ExpectedFailure{entry("B4", "network", "")}, "B4", "", first},
		"of all kinds":   {[]ExpectedFailure{entry("B4", "", "")}, "B4", "", first},
		"of another kind": {[]ExpectedFailure{entry("B4", "Extension/e", "")}, "", "B4 of Extension/e",
			first},
		"what passes":         {[]ExpectedFailure{entry("A1", "Network", "")}, "", "A1 of Network", first},
		"what does not apply": {[]ExpectedFailure{entry("C2", "Network", "")}, "", "C2 of Network", first},
		"passes, and of a kind that was left out": {[]ExpectedFailure{entry("A1", "", "")}, "", "",
			first},
		"of that kind alone":       {[]ExpectedFailure{entry("A1", "DNSRecord", "")}, "", "", first},
		"what is unknown":          {[]ExpectedFailure{entry("A2", "Network", "")}, "", "", first},
		"a clause that was not in": {[]ExpectedFailure{entry("E1", "Network", "")}, "", "", first},
		"of a kind without object": {[]ExpectedFailure{entry("B4", "Worker", "")}, "", "", first},
		"one point of two": {[]ExpectedFailure{entry(ByCrashes, "Network", "migrate after write 0")}, "", "",
			second},
		"both points": {[]ExpectedFailure{entry(ByCrashes, "Network", "migrate after write 0"),
			entry(ByCrashes, "Network", "migrate after write 1")}, ByCrashes, "", first},
		"all points": {[]ExpectedFailure{entry(ByCrashes, "Network", "")}, ByCrashes, "", first},
		"a point that passes": {[]ExpectedFailure{entry(ByCrashes, "Network", "restore after write 0")}, "",
			"B17 of Network at restore after write 0", first},
		"a point that was not tried": {[]ExpectedFailure{entry(ByCrashes, "Network", "restore after write 9")}, "", "",
			first},
	} {
		r := found()
		r.Reconciles = kinds
		r.Expect(c.entries)
		var known, outdated []string
		for _, clause := range Clauses() {
			if f := r.Kinds[0].Findings[clause.ID]; f.Expected == "issue "+clause.ID && f.Outcome == NonConformant {
				known = append(known, clause.ID)
			}
		}
		for _, x := range r.Outdated {
			outdated = append(outdated, x.String())
		}
		crashes := r.Kinds[0].Findings[ByCrashes]
		got := fmt.Sprintf("%s|%s|%s", strings.Join(known, " "), strings.Join(outdated, " "), crashes.Reason)
		if want := fmt.Sprintf("%s|%s|%s", c.known, c.outdated, c.reason); got != want {
			t.Errorf("%s: known, outdated and reason are %q, want %q", name, got, want)
		}
		if r.Counts()[Expected] != len(known) || r.Outcome() != NonConformant {
			t.Errorf("%s: %v, %s", name, r.Counts(), r.Outcome())
		}
	}
}

// What is known is no failure of the run; what is left decides.
func TestReport_OnlyKnownFailures_AreNotNonConformant(t *testing.T) {
	t.Parallel()
	r := found()
	r.Kinds, r.Reconciles = r.Kinds[:1], []string{"Network/n"}
	r.Expect([]ExpectedFailure{{Clause: "B4", Reason: "issue 1"}, {Clause: ByCrashes, Reason: "issue 2"},
		{Clause: "A1", Reason: "issue 3", File: "known.yaml", Line: 9}})
	if got := r.Outcome(); got != Unknown {
		t.Errorf("with A2 open it is %s", got)
	}
	delete(r.Kinds[0].Findings, "A2")
	if got := r.Outcome(); got != Expected {
		t.Errorf("without it %s", got)
	}
	crashes := r.Kinds[0].Findings[ByCrashes]
	crashes.Open = "1 of 3 crash points do not show it"
	r.Kinds[0].Findings[ByCrashes] = crashes
	if got := r.Outcome(); got != Unknown {
		t.Errorf("with open crash points %s", got)
	}
	crashes.Open = ""
	r.Kinds[0].Findings[ByCrashes] = crashes
	var text strings.Builder
	if err := r.Write(&text, Clauses()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"known B4 Network/n: broken (expected: issue 1)\n",
		"1 ok, 0 not, 2 known, 0 unknown, 1 do not apply\n",
		"known.yaml:9: A1 is listed as an expected failure, and it did not fail: remove the entry\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, text.String())
		}
	}
}

// The points of crashes are each judged once, and the graver of two tries counts.
func TestSurvivesCrashes_Findings_HaveTheirPoints(t *testing.T) {
	t.Parallel()
	e := conforming()
	again := e.Crashes[0]
	again.Final.Cloud = "2 networks"
	e.Crashes[0].Alone, e.Crashes[0].Final.Cloud = false, "2 networks"
	e.Crashes = append(e.Crashes, again)
	f := survivesCrashes(e)
	var got []string
	for _, p := range f.Points {
		got = append(got, p.Point+" "+string(p.Outcome))
	}
	want := []string{"migrate after write 1 NonConformant", "restore after write 1 Conformant"}
	if diff := cmp.Diff(want, got); diff != "" || !strings.HasPrefix(f.Reason, "migrate after write 1: ") || f.Open != "" {
		t.Errorf("%q, %q (-want +got):\n%s", f.Reason, f.Open, diff)
	}
	for i := range e.Crashes {
		if e.Crashes[i].Step == Restore {
			e.Crashes[i].Missed = true
		}
	}
	if f := survivesCrashes(e); f.Outcome != NonConformant || !strings.Contains(f.Open, "restore after write 1: ") {
		t.Errorf("%s, %q is open, want what is missed of restore", f.Outcome, f.Open)
	}
}
