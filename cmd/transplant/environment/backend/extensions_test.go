package backend

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/landscape"
)

func TestHosts_ThirdPartyExtension_DependsOnTheBackend(t *testing.T) {
	t.Parallel()
	ofImage, ofProgram := landscape.Extension{Name: "i", Image: "mine:1"},
		landscape.Extension{Name: "vault", Binary: "/home/me/bin/vault-controller"}
	if field, err := (&Embedded{}).Hosts(t.Context(), ofImage); err == nil || field != "spec.image" ||
		!strings.Contains(err.Error(), "--backend kind") {
		t.Errorf("embedded, of an image: %s: %v", field, err)
	}
	if _, err := (&Embedded{}).Hosts(t.Context(), ofProgram); err != nil {
		t.Errorf("embedded, of a program: %v", err)
	}
	if field, err := (&Kind{}).Hosts(t.Context(), ofProgram); err == nil || field != "spec.binary" {
		t.Errorf("kind, of a program that is not there: %s: %v", field, err)
	}
}

// What up is given is refused as in a scenario: before anything is made.
func TestExtensionsThatAreGivenToUpAreChecked(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program, file := filepath.Join(folder, "program"), filepath.Join(folder, "gateway.yaml")
	text := "apiVersion: transplant.dev/v1alpha1\nkind: ExtensionDeployment\nmetadata: {name: gateway}\nspec: " +
		"{resources: [{kind: Extension, type: gate}], binary: program}\n"
	if err := errors.Join(os.WriteFile(program, nil, 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	given := Extensions{}
	given.Files = []string{file}
	if err := given.Check(t.Context(), "embedded", []string{"a", "b"}); err == nil || !strings.Contains(err.Error(),
		`"gateway-a" would be two actors`) {
		t.Errorf("one that is called as another actor is: %v", err)
	}
	if err := given.Check(t.Context(), "embedded", nil); err != nil {
		t.Errorf("without seeds: %v", err)
	}
}
