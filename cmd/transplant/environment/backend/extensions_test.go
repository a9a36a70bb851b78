package backend

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/run"
)

func TestHosts_ThirdPartyExtension_DependsOnTheBackend(t *testing.T) {
	t.Parallel()
	ofImage, ofProgram := landscape.Extension{Name: "i", Image: "mine:1"},
		landscape.Extension{Name: "vault", Binary: "/bin/sh"}
	if field, err := (&Embedded{}).Hosts(t.Context(), ofImage); err == nil || field != "spec.image" ||
		!strings.Contains(err.Error(), "--backend kind") {
		t.Errorf("embedded, of an image: %s: %v", field, err)
	}
	if _, err := (&Embedded{}).Hosts(t.Context(), ofProgram); err != nil {
		t.Errorf("embedded, of a program: %v", err)
	}
	charted := landscape.Extension{Name: "c", Chart: "c", Containers: []landscape.ExtensionContainer{
		{Name: "first", Binary: "/bin/sh", Field: "spec.containers[0]"}, {Name: "other", Image: "i", Field: "spec.chart"}}}
	if field, err := (&Embedded{}).Hosts(t.Context(), charted); err == nil || field != "spec.chart" ||
		!strings.Contains(err.Error(), `container "other"`) {
		t.Errorf("embedded, of a chart with an image: %s: %v", field, err)
	}
	missing := landscape.Extension{Name: "vault", Binary: filepath.Join(t.TempDir(), "vault-controller")}
	for name, host := range map[string]run.Host{"kind": &Kind{}, "embedded": &Embedded{}} {
		if field, err := host.Hosts(t.Context(), missing); !errors.Is(err, os.ErrNotExist) || field != "spec.binary" {
			t.Errorf("%s, of a program that is not there: %s: %v", name, field, err)
		}
	}
}

// What up is given is refused as in a scenario: before anything is made.
func TestExtensionsThatAreGivenToUpAreChecked(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program, file := filepath.Join(folder, "program"), filepath.Join(folder, "gateway.yaml")
	text := "apiVersion: transplant.dev/v1alpha1\nkind: ExtensionDeployment\nmetadata: {name: gateway}\nspec: " +
		"{registration: registration.yaml, binary: program}\n"
	registration := "{apiVersion: core.gardener.cloud/v1beta1, kind: ControllerRegistration, metadata: {name: gateway}, " +
		"spec: {resources: [{kind: Bastion, type: gate}, {kind: Extension, type: gate}]}}\n"
	if err := errors.Join(os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755),
		os.WriteFile(filepath.Join(folder, "registration.yaml"), []byte(registration), 0o600),
		os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	var warnings strings.Builder
	given := Extensions{Warnings: &warnings}
	given.Files = []string{file}
	if err := given.Check(t.Context(), "embedded", []string{"a", "b"}); err == nil || !strings.Contains(err.Error(),
		`"gateway-a" would be two actors`) {
		t.Errorf("one that is called as another actor is: %v", err)
	}
	if err := given.Check(t.Context(), "embedded", nil); err != nil {
		t.Errorf("without seeds: %v", err)
	}
	if want := "warning: " + file + ": Bastion gate: no landscape has"; !strings.Contains(warnings.String(), want) {
		t.Errorf("%q is not in\n%s", want, warnings.String())
	}
}
