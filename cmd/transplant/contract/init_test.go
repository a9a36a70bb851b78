package contract

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario/thirdparty"
)

const schemaName = "extensiondeployment.schema.json"

var withSchema = fstest.MapFS{schemaName: {Data: []byte("{}")}}

// A new file is one that commands take as it is, once its program is there: each kind alone, and most of them at once.
func TestInit_NewFile_IsAnExtension(t *testing.T) {
	t.Parallel()
	all := landscape.ExtensionKinds()
	lists := [][]string{all}
	for _, kind := range all {
		lists = append(lists, []string{strings.ToLower(kind)})
	}
	for _, kinds := range lists {
		folder := t.TempDir()
		path, err := begin(withSchema, folder, "mine", kinds)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(folder, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "bin/mine"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		found, err := (&thirdparty.Flag{Files: []string{path}}).Parse()
		if err != nil || len(found) != 1 || found[0].Name != "mine" || len(found[0].Resources) != len(kinds) {
			t.Errorf("%q: %v, %+v", kinds, err, found)
			continue
		}
		for i, resource := range found[0].Resources {
			if !strings.EqualFold(resource.Kind, kinds[i]) {
				t.Errorf("%q has %s", kinds, resource.Key())
			}
		}
		if _, err := os.Stat(filepath.Join(folder, schemaName)); err != nil {
			t.Error(err)
		}
	}
}

// A name that would be something else in YAML is a name all the same.
func TestInit_Name_IsText(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"123", "true", "null", "1e3"} {
		folder := t.TempDir()
		path, err := begin(withSchema, folder, name, []string{"Extension"})
		if err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(folder, "bin", name)
		if err := errors.Join(os.Mkdir(filepath.Dir(program), 0o755), os.WriteFile(program, []byte("#!/bin/sh\n"),
			0o755)); err != nil {
			t.Fatal(err)
		}
		found, err := (&thirdparty.Flag{Files: []string{path}}).Parse()
		if err != nil || len(found) != 1 || found[0].Name != name || found[0].Resources[0].Key() != "Extension/"+name {
			t.Errorf("%s: %v, %+v", name, err, found)
		}
	}
}

func TestInit_Mistakes_NameTheRemedy(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if _, err := begin(withSchema, folder, "mine", []string{"Network", "network"}); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct{ name, kinds string }{
		"it is there already":               {"mine", "Network"},
		"is a DNS label":                    {"My_Extension", "Network"},
		"has at most 40 characters":         {strings.Repeat("x", 41), "Network"},
		"--kinds: is missing; known are":    {"other", ""},
		`"Netwrk": did you mean "Network"?`: {"other", "Netwrk"},
		`there is no kind "Bastion": `:      {"other", "Bastion"},
		`there is no kind "": `:             {"other", "Network,"},
	} {
		var kinds []string
		if c.kinds != "" {
			kinds = strings.Split(c.kinds, ",")
		}
		if path, err := begin(withSchema, folder, c.name, kinds); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %s, %v; want %q", c, path, err, want)
		}
	}
}
