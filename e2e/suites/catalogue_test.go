//go:build e2e

package suites

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/transplant-sim/transplant/e2e/provider"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// scenarioLandscape is the name of the landscapes that scenarios run on.
const scenarioLandscape = "e2e-scenario"

// Every scenario is a feature, labelled with its name, its own labels such as its tier, its steps, the kinds of its
// faults and the oracles that judge it.
func TestCatalogue(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "scenarios", "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("find the scenarios: %v", err)
	}
	for _, file := range files {
		s, err := scenario.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		environment.Test(t, labelled(features.NewWithDescription(s.Metadata.Name, s.Spec.Why), s).
			Assess("the verdict is Passed", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
				mustPass(ctx, t, s.Metadata.Name, file)
				return ctx
			}).Feature())
	}
}

func labelled(feature *features.FeatureBuilder, s *scenario.Scenario) *features.FeatureBuilder {
	feature.WithLabel("suite", "catalogue").WithLabel("scenario", s.Metadata.Name)
	for key, value := range s.Metadata.Labels {
		feature.WithLabel(key, value)
	}
	for i := range s.Spec.Steps {
		verb, _ := s.Spec.Steps[i].Step()
		feature.WithLabel("step", verb)
		if inject := s.Spec.Steps[i].Fault; inject != nil {
			kind, _ := inject.Fault()
			feature.WithLabel("fault", kind)
		}
	}
	for _, name := range s.Spec.Always {
		feature.WithLabel("oracle", string(name))
	}
	return feature
}

// mustPass runs a scenario, or one point of its sweep. If it does not pass, the logs are left beside the evidence.
func mustPass(ctx context.Context, t *testing.T, name, file string) {
	t.Helper()
	folder := filepath.Join(results, name)
	command := exec.CommandContext(ctx, program, "run", file, "--backend", backend, "--landscape", scenarioLandscape,
		"--timeout-multiplier", patience, "--sample", "1", "--out", folder)
	said, err := command.CombinedOutput()
	judged := verdicts(t, folder)
	if err == nil && len(judged) > 0 {
		return
	}
	t.Errorf("%v, verdicts %v; look at %s\n%s", err, judged, folder, said)
	logs := provider.New().WithPath(program).WithName(scenarioLandscape)
	if err := logs.ExportLogs(ctx, filepath.Join(folder, "logs")); err != nil {
		t.Error(err)
	}
}

// verdicts in a folder and right below it.
func verdicts(t *testing.T, folder string) []verdict.Verdict {
	t.Helper()
	var all []verdict.Verdict
	for _, pattern := range []string{verdict.FileName, filepath.Join("*", verdict.FileName)} {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			var judged verdict.Report
			content, err := os.ReadFile(file)
			if err == nil {
				err = json.Unmarshal(content, &judged)
			}
			if err != nil {
				t.Fatalf("%s: %v", strings.TrimPrefix(file, root), err)
			}
			all = append(all, judged.Verdict)
		}
	}
	return all
}
