package profile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShareOf_ProgramsOfALandscape_AreEachOnOneSide(t *testing.T) {
	t.Parallel()
	watched := []Program{
		{Program: "kube-apiserver", Parent: "run", CPUSeconds: 4}, {Program: "etcd", Parent: "processnode", CPUSeconds: 3},
		{Program: "etcd-guard", Parent: "processnode", CPUSeconds: 1},
		{Program: "gardenlet", Parent: "processnode", CPUSeconds: 1},
		{Program: "(ended)", Parent: "run", CPUSeconds: 0.5}, {Program: "(ended)", Parent: "processnode", CPUSeconds: 0.5},
	}
	harness := []Program{
		{Program: "run", CPUSeconds: 2, WakeUps: 7}, {Program: "processnode", Parent: "run", CPUSeconds: 0.25},
		{Program: "cloud", Parent: "run", CPUSeconds: 0.125}, {Program: "gateway", Parent: "processnode", CPUSeconds: 0.125},
		{Program: "nodes", Parent: "run"}, {Program: "kwok", Parent: "nodes"}, {Program: "(ended)", Parent: "nodes"},
	}
	first := Phase{Name: Landscape, Programs: append(watched, harness...)}
	share := ShareOf(first, Phase{Name: Recovery, Programs: harness[:1]})
	want := Share{Harness: 4.5, Watched: 10, By: map[string]float64{"run": 4, "processnode": 0.25, "cloud": 0.125,
		"gateway": 0.125, "nodes": 0, "kwok": 0, "(ended)": 0}}
	if diff := cmp.Diff(want, share); diff != "" {
		t.Errorf("share (-want +got):\n%s", diff)
	}
	if said, want := share.String(), "harness 4.50 CPU s, 45 % of the 10.00 CPU s that it watches (run 4.00, "+
		"processnode 0.25, cloud 0.12, gateway 0.12, (ended) 0.00, kwok 0.00, nodes 0.00)"; said != want {
		t.Errorf("the share is %q, want %q", said, want)
	}
}

func TestHeavy_ShareAboveTheBound_NamesPhaseAndPrograms(t *testing.T) {
	t.Parallel()
	phase := func(name string, engine, server float64) Phase {
		return Phase{Name: name, Programs: []Program{{Program: "kube-apiserver", Parent: "run", CPUSeconds: server},
			{Program: "run", CPUSeconds: engine}}}
	}
	for name, c := range map[string]struct {
		phases []Phase
		most   float64
		want   []string
	}{
		"no bound":     {[]Phase{phase(Recovery, 2, 10)}, 0, nil},
		"at the bound": {[]Phase{phase(Recovery, 2, 10)}, 20, nil},
		"in recovery": {[]Phase{phase(Landscape, 0, 90), phase(Recovery, 2, 10)}, 10,
			[]string{"phase recovery: harness 2.00"}},
		"in all": {[]Phase{phase(Landscape, 9, 10), phase(Recovery, 1, 10)}, 10,
			[]string{"all phases: harness 10.00 CPU s, 50 %"}},
		"nothing watched": {[]Phase{phase(Recovery, 2, 0)}, 10, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := Heavy(c.phases, c.most)
			if len(found) != len(c.want) {
				t.Fatalf("found %q, want %q", found, c.want)
			}
			for i := range found {
				if !strings.HasPrefix(found[i], c.want[i]) || !strings.Contains(found[i], "(run ") {
					t.Errorf("found %q, want %q", found[i], c.want[i])
				}
			}
		})
	}
}
