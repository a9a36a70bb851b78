package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.GROUP
spec:
  group: GROUP
  names: {kind: Thing, plural: things}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          metadata: {type: object}
          spec:
            type: object
            properties:
              list: {type: array, items: {type: object, properties: {name: {type: string}}}}
              map: {type: object, additionalProperties: {type: object}}
`

func finished(t *testing.T, folder, group string) string {
	t.Helper()
	name := filepath.Join(folder, group+".yaml")
	if err := finish(folder); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestFinish(t *testing.T) {
	t.Parallel()
	// The root, spec, the list's items and the map's values; neither metadata nor the map itself.
	for group, want := range map[string]int{"core.gardener.cloud": 4, ownGroup: 0} {
		folder := t.TempDir()
		input := strings.ReplaceAll(definition, "GROUP", group)
		if err := os.WriteFile(filepath.Join(folder, group+".yaml"), []byte(input), 0o600); err != nil {
			t.Fatal(err)
		}
		once := finished(t, folder, group)
		if got := strings.Count(once, "x-kubernetes-preserve-unknown-fields: true"); got != want {
			t.Errorf("%d objects of %s keep unknown fields, want %d:\n%s", got, group, want, once)
		}
		if strings.Contains(once, "status:") {
			t.Errorf("the definition of %s has a status", group)
		}
		if diff := cmp.Diff(once, finished(t, folder, group)); diff != "" {
			t.Errorf("running again changes (-before +after):\n%s", diff)
		}
	}
}

func TestFinishRefuses(t *testing.T) {
	t.Parallel()
	empty, truncated := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(truncated, "a.yaml"), bytes.Repeat([]byte("a: "), 2), 0o600); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{empty: "no definitions in", truncated: "finish the definition"} {
		if err := finish(folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
