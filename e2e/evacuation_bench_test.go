package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/step"
)

// evacuated is how many shoots the benchmark evacuates.
const evacuated = 20

// BenchmarkEvacuation reports what it takes to bring twenty shoots back after the loss of their seed: the story of
// evacuate-many with that many shoots, each with its own API server, etcd and compared data.
func BenchmarkEvacuation(b *testing.B) {
	b.Setenv("TRANSPLANT_HOME", b.TempDir())
	for b.Loop() {
		file := grown(b, "../scenarios/evacuate-many.yaml", evacuated)
		v := told(b, file)
		e := v.Measures.Evacuation
		if e == nil || e.Shoots != evacuated || e.RequestsPerShoot == nil || e.CPUSecondsPerShoot == nil || v.Measures.RPOSeconds == nil {
			b.Fatalf("measured were %+v, and of the evacuation %+v", v.Measures, e)
		}
		b.ReportMetric(e.Seconds, "s/all")
		b.ReportMetric(*e.RequestsPerShoot, "requests/shoot")
		b.ReportMetric(*e.CPUSecondsPerShoot, "cpu-s/shoot")
		b.ReportMetric(float64(*v.Measures.RestoresAtOnce), "restores-at-once")
		b.ReportMetric(*v.Measures.RPOSeconds, "rpo-s")
	}
}

// grown is a story with so many shoots as its own ones would be, one like the other in turn. What its steps do with each
// shoot they do with all, one after the other; deadlines are as long for as many. What holds always stays; the order
// of the first ones is the short story's. Its goal for what may be lost is
// that of a machine that can do so many backups in time, which this one may not: it is a figure here.
func grown(b testing.TB, file string, shoots int) string {
	b.Helper()
	s, err := scenario.ParseFile(file)
	if err != nil {
		b.Fatal(err)
	}
	spec := &s.Spec
	models := spec.Landscape.Shoots
	s.Metadata.Name = fmt.Sprintf("%s-%d", s.Metadata.Name, shoots)
	spec.Landscape.Shoots = nil
	var create, load, expect, rest []step.Spec
	var deadline time.Duration
	for i := range spec.Steps {
		switch one := spec.Steps[i]; {
		case one.Expect != nil:
			deadline += one.Expect.Within.Duration
		case one.Load == nil:
			rest = append(rest, one)
		}
	}
	grow := func(d time.Duration) time.Duration { return d * time.Duration(shoots) / time.Duration(len(models)) }
	deadline = grow(deadline)
	spec.SettleWithin.Duration = grow(spec.SettleWithin.Duration)
	spec.Measure.RPO = nil
	for i := range shoots {
		shoot := models[i%len(models)]
		shoot.Name = fmt.Sprintf("s%d", i+1)
		spec.Landscape.Shoots = append(spec.Landscape.Shoots, shoot)
		// One after the other: twenty API servers that start at once are another story.
		create = append(create, step.Spec{Create: &step.Create{Shoot: shoot.Name}})
		load = append(load, step.Spec{Load: &step.Load{Shoot: shoot.Name, WritesPerSecond: 1}})
		back := fmt.Sprintf("shoot('%[1]s').seed == 'b' && shoot('%[1]s').healthy", shoot.Name)
		expect = append(expect, step.Spec{Expect: &step.Expect{That: back, Within: metav1.Duration{Duration: deadline}}})
	}
	spec.Steps = append(append(append(create, load...), rest...), expect...)
	content, err := yaml.Marshal(s)
	if err != nil {
		b.Fatal(err)
	}
	into := filepath.Join(b.TempDir(), s.Metadata.Name+".yaml")
	if err := os.WriteFile(into, content, 0o600); err != nil {
		b.Fatal(err)
	}
	return into
}
