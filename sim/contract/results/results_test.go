package results

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/junit"
)

// judgedIDs are the clauses that are judged.
func judgedIDs() (ids []string) {
	for _, c := range contract.Clauses() {
		if c.IsJudged() {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// conforming is the report of an extension of two kinds that keeps all clauses.
func conforming() contract.Report {
	r := contract.Report{Extension: "x", File: "my files/x.yaml", Version: "transplant v1 (commit c)", Multiplier: 2,
		Started: time.Date(2026, 5, 4, 3, 2, 1, 0, time.FixedZone("", 3600)), Seconds: 12.3456,
		Programs:   []contract.Program{{Name: "x", SHA256: "00ff"}},
		Reconciles: []string{"Network/n", "Extension/e"}}
	for _, c := range contract.Clauses() {
		r.Clauses = append(r.Clauses, c.ID)
	}
	for _, name := range r.Reconciles {
		kind, ofType, _ := strings.Cut(name, "/")
		k := contract.KindReport{Kind: kind, Type: ofType, Findings: map[string]contract.Finding{}}
		for _, c := range contract.Clauses() {
			k.Findings[c.ID] = contract.Finding{Outcome: contract.NotJudged, Reason: c.How}
			if c.IsJudged() {
				k.Findings[c.ID] = contract.Finding{Outcome: contract.Conformant}
			}
		}
		r.Kinds = append(r.Kinds, k)
	}
	return r
}

// mixed is one with a finding of each outcome.
func mixed() contract.Report {
	r := conforming()
	r.Kinds[0].Findings["B4"] = contract.Finding{Outcome: contract.NonConformant, Reason: "secrets/<s> is left"}
	r.Kinds[0].Findings["A1"] = contract.Finding{Outcome: contract.Unknown, Reason: "not reached"}
	r.Kinds[0].Findings["C2"] = contract.Finding{Outcome: contract.NotApplicable, Reason: "no state"}
	first, second := "migrate after write 0: differs", "migrate after write 1: differs"
	r.Kinds[1].Findings[contract.ByCrashes] = contract.Finding{Outcome: contract.NonConformant, Reason: first,
		Points: []contract.PointFinding{
			{Point: "migrate after write 0", Finding: contract.Finding{Outcome: contract.NonConformant, Reason: first}},
			{Point: "migrate after write 1", Finding: contract.Finding{Outcome: contract.NonConformant, Reason: second}},
			{Point: "migrate after write 2", Finding: contract.Finding{Outcome: contract.Conformant}}}}
	r.Kinds[1].Findings["D1"] = contract.Finding{Outcome: contract.NonConformant, Reason: "twice"}
	r.Expect([]contract.ExpectedFailure{{Clause: "D1", Reason: "issue 7"},
		{Clause: "E1", Kind: "Extension", Reason: "issue 8", File: "known.yaml", Line: 5}})
	r.Kinds = append(r.Kinds, contract.KindReport{Kind: "Worker", Type: "w", Reason: "no object"})
	r.Reconciles = append(r.Reconciles, "Worker/w", "DNSRecord/d")
	return r
}

func filesOf(t *testing.T, r contract.Report) map[string][]byte {
	t.Helper()
	files, err := Files(r, "body { margin: 0 }")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Programs that read JUnit find the same cases in every run, and counts and times that add up.
func TestJUnit_EachClauseAndKind_IsACase(t *testing.T) {
	t.Parallel()
	var suite junit.Suite
	if err := xml.Unmarshal(filesOf(t, mixed())["junit.xml"], &suite); err != nil {
		t.Fatal(err)
	}
	outcomes, counts, sum := map[string]string{}, map[string]int{}, 0.0
	var names []string
	for _, c := range suite.Cases {
		outcome, text := "passed", ""
		switch {
		case c.Failure != nil:
			outcome, text = "failed", c.Failure.Text
		case c.Skipped != nil:
			outcome, text = "skipped", c.Skipped.Text
		}
		counts[outcome]++
		outcomes[c.Class+" "+c.Name] = outcome + " " + text
		names = append(names, c.Class+" "+c.Name)
		sum += c.Time
	}
	var want []string
	for _, kind := range []string{"Network/n", "Extension/e", "Worker/w"} {
		for _, id := range judgedIDs() {
			want = append(want, kind+" "+id)
		}
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
	if suite.Tests != len(want) || suite.Failures != counts["failed"] || suite.Skipped != counts["skipped"] ||
		suite.Errors != 0 || counts["failed"] != 3 {
		t.Errorf("counts of %+v, and there are %v", suite, counts)
	}
	if suite.Time != 12.346 || math.Abs(sum-suite.Time) > 1e-9 || suite.Timestamp != "2026-05-04T02:02:01" {
		t.Errorf("the cases took %gs of %gs, from %s", sum, suite.Time, suite.Timestamp)
	}
	for name, parts := range map[string][]string{
		"Network/n A4": {"passed "},
		"Network/n B4": {"failed secrets/<s> is left\n", "docs/contract.md#clause-b4", "incident: provider-aws #1039",
			"transplant contract 'my files/x.yaml' --kind Network --clause B4 --points none --timeout-multiplier 2"},
		"Network/n A1": {"skipped unknown: not reached"}, "Network/n C2": {"skipped does not apply: no state"},
		"Extension/e D1": {"skipped expected failure: issue 7"}, "Worker/w B4": {"skipped no object"},
		"Extension/e B17": {"failed migrate after write 0: differs\n", "also migrate after write 1: differs",
			"--clause B17 --timeout-multiplier 2"},
		"Extension/e E1": {"failed known.yaml:5: E1 of Extension is listed as an expected failure"},
		"Network/n E1":   {"passed "},
	} {
		for _, part := range parts {
			if !strings.Contains(outcomes[name], part) {
				t.Errorf("%s is %q, want %q", name, outcomes[name], part)
			}
		}
	}
}

// A profile is Conformant if all of it was tried; what is known to fail counts as failed.
func TestPublished_Profiles(t *testing.T) {
	t.Parallel()
	without := func(id string) func(*contract.Report) {
		return func(r *contract.Report) {
			r.Clauses = slices.DeleteFunc(r.Clauses, func(one string) bool { return one == id })
			for _, kind := range r.Kinds {
				delete(kind.Findings, id)
			}
		}
	}
	known := func(r *contract.Report) {
		r.Kinds[0].Findings["C2"] = contract.Finding{Outcome: contract.NonConformant, Reason: "r"}
		r.Expect([]contract.ExpectedFailure{{Clause: "C2", Reason: "issue 1"}})
	}
	for name, c := range map[string]struct {
		change  func(*contract.Report)
		results string // of Core, State, Lifecycle, SplitBrain
		badge   string
		command string
	}{
		"all kept": {func(*contract.Report) {}, "Conformant Conformant Conformant NotJudged",
			"conformant: Core, State, Lifecycle brightgreen", "transplant contract x.yaml --timeout-multiplier 2"},
		"known": {known, "Conformant NonConformant Conformant NotJudged",
			"broken: State; conformant: Core, Lifecycle red",
			"transplant contract x.yaml --timeout-multiplier 2"},
		"only what counts for nothing": {func(r *contract.Report) {
			for _, id := range []string{"B11", "F1"} {
				r.Kinds[0].Findings[id] = contract.Finding{Outcome: contract.NonConformant, Aside: "recommended"}
			}
		}, "Conformant Conformant Conformant NotJudged", "conformant: Core, State, Lifecycle brightgreen",
			"transplant contract x.yaml --timeout-multiplier 2"},
		"no crashes": {without(contract.ByCrashes), "Unknown Conformant Conformant NotJudged",
			"unknown: Core; conformant: State, Lifecycle lightgrey",
			"transplant contract x.yaml --points none --timeout-multiplier 2"},
		"a kind left out": {func(r *contract.Report) { r.Kinds, r.Multiplier = r.Kinds[1:], 1 },
			"Unknown Unknown Unknown NotJudged", "unknown: Core, State, Lifecycle lightgrey",
			"transplant contract x.yaml --kind Extension"},
		"on kind": {func(r *contract.Report) { r.Backend, r.NodeImage = "kind", "node:mine" },
			"Conformant Conformant Conformant NotJudged", "conformant: Core, State, Lifecycle brightgreen",
			"transplant contract x.yaml --backend kind --node-image node:mine --timeout-multiplier 2"},
		"nothing to judge": {func(r *contract.Report) {
			for _, kind := range r.Kinds {
				for id := range kind.Findings {
					kind.Findings[id] = contract.Finding{Outcome: contract.NotApplicable}
				}
			}
		}, "NotApplicable NotApplicable NotApplicable NotJudged", "nothing judged lightgrey",
			"transplant contract x.yaml --timeout-multiplier 2"},
	} {
		r := conforming()
		c.change(&r)
		p := PublishedOf(r)
		var got []string
		for _, profile := range p.Profiles {
			got = append(got, string(profile.Result))
		}
		if results := strings.Join(got, " "); results != c.results {
			t.Errorf("%s: profiles %s, want %s", name, results, c.results)
		}
		if b := p.badge(); b.Message+" "+b.Color != c.badge || b.SchemaVersion != 1 || b.Label == "" {
			t.Errorf("%s: badge %+v, want %s", name, b, c.badge)
		}
		if p.Reproduce.Command != c.command {
			t.Errorf("%s: %s, want %s", name, p.Reproduce.Command, c.command)
		}
	}
}

// The published file has its version, and says what it does not cover.
func TestPublished_File_IsWhole(t *testing.T) {
	t.Parallel()
	files := filesOf(t, mixed())
	var p Published
	if err := yaml.UnmarshalStrict(files["contract.yaml"], &p); err != nil {
		t.Fatal(err)
	}
	want := []Item{{Clause: "B4", Kind: "Network/n", Reason: "secrets/<s> is left"},
		{Clause: contract.ByCrashes, Kind: "Extension/e", Reason: "migrate after write 0: differs"},
		{Clause: "D1", Kind: "Extension/e", Reason: "twice", Expected: "issue 7"}}
	if diff := cmp.Diff(want, p.Profiles[0].Failures); diff != "" {
		t.Errorf("failures of %s (-want +got):\n%s", p.Profiles[0].Name, diff)
	}
	head := fmt.Sprintf("%s %s %s %s %s", p.APIVersion, p.Kind, p.Metadata.Name, p.Date, p.Result)
	if head != "transplant.dev/v1alpha1 ContractReport x 2026-05-04 NonConformant" ||
		!slices.Equal(p.Kinds, []string{"Network/n", "Extension/e"}) || p.Programs[0].SHA256 != "00ff" ||
		p.Clauses.Judged != len(judgedIDs()) || len(p.Clauses.SHA256) != 64 {
		t.Errorf("%s: %+v", head, p)
	}
	for what, why := range map[string]string{"Worker/w": "no object", "DNSRecord/d": "not tried: left out by --kind",
		"B2": "Not judged: "} {
		if !slices.ContainsFunc(p.LeftOut, func(one LeftOut) bool {
			return one.What == what && strings.HasPrefix(one.Why, why)
		}) {
			t.Errorf("%s is not left out because of %q: %+v", what, why, p.LeftOut)
		}
	}
	if strings.Contains(string(files["contract.yaml"]), "my files") {
		t.Error("it names a folder of the user")
	}
	b := map[string]any{}
	if err := json.Unmarshal(files["badge.json"], &b); err != nil || b["schemaVersion"] != 1.0 || b["color"] != "red" {
		t.Errorf("badge %v, %v", b, err)
	}
}

// The page needs nothing but itself, and each link of the table leads to its section.
func TestPage_Findings_HaveSections(t *testing.T) {
	t.Parallel()
	text := string(filesOf(t, mixed())["report.html"])
	for _, want := range []string{
		`<span class="badge">NonConformant</span>`, `href="#B4-Network-n"`, `id="B4-Network-n"`, "secrets/&lt;s&gt; is left",
		`id="B17-Extension-e"`,
		"<li>migrate after write 1: differs</li>", "<dt>Known</dt><dd>issue 7</dd>",
		"--kind Network --clause B4 --points none", "provider-aws #1039", "known.yaml:5: E1 of Extension is listed",
		`id="A1-Network-n"`, "<dt>Core</dt><dd>NonConformant</dd>", "--kind Extension,Network,Worker", "00ff",
		"body { margin: 0 }",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not have %q", want)
		}
	}
	for _, forbidden := range []string{"<script", "http://", "https://", "<no value>", "ZgotmplZ"} {
		if strings.Contains(text, forbidden) {
			t.Errorf("it has %q", forbidden)
		}
	}
	for _, part := range strings.Split(text, `href="#`)[1:] {
		if id, _, _ := strings.Cut(part, `"`); !strings.Contains(text, `id="`+id+`"`) {
			t.Errorf("no section %q", id)
		}
	}
}
