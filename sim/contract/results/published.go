package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/sim/contract"
)

// PublishedKind is the kind of published reports.
const PublishedKind = "ContractReport"

// Published is a report that one may publish. What is known to fail counts as failed: nobody gets a better report by
// listing it.
type Published struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	// Date in UTC.
	Date string `json:"date"`
	// Programs that were tried.
	Programs []contract.Program `json:"programs"`
	// Kinds that were judged, each with its type.
	Kinds []string `json:"kinds"`
	// Clauses are those of this version.
	Clauses ClauseSet `json:"clauses"`
	// Result is the worst of the profiles of which something is judged.
	Result   contract.Outcome `json:"result"`
	Profiles []Profile        `json:"profiles"`
	// LeftOut is what the results do not cover, and why.
	LeftOut   []LeftOut `json:"leftOut,omitempty"`
	Reproduce Reproduce `json:"reproduce"`
}

// Metadata names the extension.
type Metadata struct {
	Name string `json:"name"`
}

// ClauseSet says which clauses these are.
type ClauseSet struct {
	Total int `json:"total"`
	// Judged by this version of the kit.
	Judged int    `json:"judged"`
	SHA256 string `json:"sha256"`
}

// Profile is a part of the contract. It is Conformant only if no flag has left out anything of it.
type Profile struct {
	Name   string           `json:"name"`
	Result contract.Outcome `json:"result"`
	// Counts are findings, one for each clause and kind.
	Counts   map[contract.Outcome]int `json:"counts,omitempty"`
	Failures []Item                   `json:"failures,omitempty"`
	Unknown  []Item                   `json:"unknown,omitempty"`
}

// Item is what was found about a clause and a kind.
type Item struct {
	Clause string `json:"clause"`
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
	// Expected is the reason for which it is known to fail.
	Expected string `json:"expected,omitempty"`
}

// LeftOut is a clause or a kind.
type LeftOut struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Reproduce says how to do it again.
type Reproduce struct {
	Version string `json:"version"`
	// Command in the folder of the extension's file.
	Command string `json:"command"`
}

// PublishedOf is the report for others.
func PublishedOf(r contract.Report) Published {
	p := Published{APIVersion: contract.APIVersion, Kind: PublishedKind, Metadata: Metadata{r.Extension},
		Date: r.Started.UTC().Format("2006-01-02"), Programs: r.Programs,
		Clauses:   ClauseSet{Total: len(contract.Clauses()), SHA256: contract.ClausesDigest()},
		Reproduce: Reproduce{r.Version, reproduce(r)}}
	for _, c := range contract.Clauses() {
		if c.IsJudged() {
			p.Clauses.Judged++
		}
	}
	incomplete := false
	for _, name := range r.Reconciles {
		if why := unjudged(r, name); why != "" {
			p.LeftOut, incomplete = append(p.LeftOut, LeftOut{name, why}), true
		} else {
			p.Kinds = append(p.Kinds, name)
		}
	}
	for _, name := range contract.Profiles {
		p.Profiles = append(p.Profiles, profileOf(r, name, incomplete))
	}
	for _, id := range deselected(r) {
		p.LeftOut = append(p.LeftOut, LeftOut{id, "not selected by --clause or --points"})
	}
	for _, c := range contract.Clauses() {
		switch {
		case !c.IsJudged():
			p.LeftOut = append(p.LeftOut, LeftOut{c.ID, c.How})
		case c.Aside != "" && slices.Contains(r.Clauses, c.ID):
			p.LeftOut = append(p.LeftOut, LeftOut{c.ID, "counts for no result: " + c.Aside})
		}
	}
	p.Result = p.worst()
	return p
}

// deselected are the clauses that are judged, and that flags have left out.
func deselected(r contract.Report) (ids []string) {
	for _, c := range contract.Clauses() {
		if c.IsJudged() && !slices.Contains(r.Clauses, c.ID) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

func profileOf(r contract.Report, name string, incomplete bool) Profile {
	p := Profile{Name: name, Result: contract.NotJudged, Counts: map[contract.Outcome]int{}}
	judged := false
	for _, c := range contract.Clauses() {
		if c.Profile != name || !c.IsJudged() || c.Aside != "" {
			continue
		}
		judged = true
		incomplete = incomplete || !slices.Contains(r.Clauses, c.ID)
		for _, kind := range r.Kinds {
			f, found := kind.Findings[c.ID]
			if !found {
				continue
			}
			p.Counts[f.Outcome]++
			item := Item{Clause: c.ID, Kind: kind.Name(), Reason: f.Reason, Expected: f.Expected}
			switch f.Outcome {
			case contract.NonConformant:
				p.Failures = append(p.Failures, item)
			case contract.Unknown:
				p.Unknown = append(p.Unknown, item)
			}
		}
	}
	switch {
	case !judged:
	case len(p.Failures) > 0:
		p.Result = contract.NonConformant
	case len(p.Unknown) > 0 || incomplete:
		p.Result = contract.Unknown
	case p.Counts[contract.Conformant] > 0:
		p.Result = contract.Conformant
	default:
		p.Result = contract.NotApplicable
	}
	return p
}

// named are the profiles with a result.
func (p Published) named(result contract.Outcome) (names []string) {
	for _, profile := range p.Profiles {
		if profile.Result == result {
			names = append(names, profile.Name)
		}
	}
	return names
}

func (p Published) worst() contract.Outcome {
	for _, result := range []contract.Outcome{contract.NonConformant, contract.Unknown, contract.Conformant} {
		if len(p.named(result)) > 0 {
			return result
		}
	}
	return contract.Unknown
}

// badge is what shields.io shows of an endpoint.
type badge struct {
	SchemaVersion int    `json:"schemaVersion"`
	Label         string `json:"label"`
	Message       string `json:"message"`
	Color         string `json:"color"`
}

func (p Published) badge() badge {
	b := badge{SchemaVersion: 1, Label: "extension contract", Color: map[contract.Outcome]string{
		contract.Conformant: "brightgreen", contract.NonConformant: "red", contract.Unknown: "lightgrey"}[p.Result]}
	var parts []string
	for _, one := range []struct {
		result contract.Outcome
		text   string
	}{{contract.NonConformant, "broken"}, {contract.Unknown, "unknown"}, {contract.Conformant, "conformant"}} {
		if names := p.named(one.result); len(names) > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s", one.text, strings.Join(names, ", ")))
		}
	}
	b.Message = strings.Join(parts, "; ")
	if b.Message == "" {
		b.Message = "nothing judged"
	}
	return b
}
