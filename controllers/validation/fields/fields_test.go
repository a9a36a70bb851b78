package fields_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/controllers/validation/fields"
	"github.com/transplant-sim/transplant/controllers/validation/fields/fieldstest"
)

// Every value in the schema is checked, or free, or warned of.
func TestTables_EveryFieldOfTheSchema_HasARow(t *testing.T) {
	t.Parallel()
	for _, kind := range fields.Kinds() {
		table, leaves := fields.Of(kind), fields.Leaves(kind)
		if len(leaves) < 15 {
			t.Errorf("the schema of %s has only %d fields", kind, len(leaves))
		}
		for _, leaf := range leaves {
			if _, found := table.Find(leaf.Path); !found {
				t.Errorf("%s %s: no row: say which values are refused, why all are fine, or warn of it", kind,
					leaf.Path)
			}
		}
	}
}

func TestTables_Rows_AreForFieldsAndUnambiguous(t *testing.T) {
	t.Parallel()
	for _, kind := range fields.Kinds() {
		table, leaves := fields.Of(kind), fields.Leaves(kind)
		paths := map[string]bool{}
		for _, row := range table {
			if paths[row.Path] {
				t.Errorf("%s %s has two rows", kind, row.Path)
			}
			paths[row.Path] = true
			if (row.Free == "") == (row.Rule == "" && row.Warning == "") {
				t.Errorf("%s %s: want a rule, a warning or both, or else a reason why it is free: %+v", kind, row.Path,
					row)
			}
			covers := func(leaf fields.Leaf) bool {
				found, _ := table.Find(leaf.Path)
				return found == row
			}
			if !strings.HasPrefix(row.Path, "metadata.") && !slices.ContainsFunc(leaves, covers) {
				t.Errorf("%s %s: no field of the schema has this row", kind, row.Path)
			}
		}
	}
}

func TestWarnings_FieldWithoutEffect_IsNamed(t *testing.T) {
	t.Parallel()
	for _, kind := range fields.Kinds() {
		table := fields.Of(kind)
		for _, leaf := range fields.Leaves(kind) {
			row, _ := table.Find(leaf.Path)
			object := map[string]any{}
			value := fieldstest.Sample(t, leaf)
			if value == row.Unless {
				value = false
			}
			fieldstest.Set(t, object, fieldstest.Place(leaf.Path), value)
			got := fields.Warnings(kind, object, nil)
			if row.Warning == "" && len(got) > 0 {
				t.Errorf("%s %s has its effect, and is warned of: %v", kind, leaf.Path, got)
			}
			named := len(got) == 1 && strings.HasPrefix(got[0], fieldstest.Place(row.Path)) &&
				strings.HasSuffix(got[0], ": "+row.Warning)
			if row.Warning != "" && !named {
				t.Errorf("%s %s: got %q, want the warning %q", kind, leaf.Path, got, row.Warning)
			}
			if again := fields.Warnings(kind, object, object); len(again) > 0 {
				t.Errorf("%s %s is warned of although it has not been touched: %v", kind, leaf.Path, again)
			}
		}
	}
}

func TestWarnings_AnnotationWithoutEffect_IsNamed(t *testing.T) {
	t.Parallel()
	object := map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"migration.gardener.cloud/live-migrate": "true", "gardener.cloud/operation": "reconcile", "mine": "x",
	}}}
	want := []string{"metadata.annotations[migration.gardener.cloud/live-migrate]: accepted, without effect here"}
	if diff := cmp.Diff(want, fields.Warnings("Shoot", object, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWarnings_Networks_OnlyWhereTheyHaveNoEffect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		nodes, pods string
		want        []string
	}{
		{pods: "100.96.0.0/11"},
		{pods: "10.0.0.0/9", want: []string{
			"spec.networking.pods: only seeds are chosen by it; pods on simulated nodes are always in 100.96.0.0/11"}},
		{nodes: "simulated", pods: "10.0.0.0/9", want: []string{
			"spec.networking.pods: only seeds are chosen by it; pods on simulated nodes are always in 100.96.0.0/11"}},
		{nodes: "real", pods: "10.0.0.0/9"},
	} {
		object := map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{"transplant.dev/nodes": c.nodes}},
			"spec": map[string]any{"networking": map[string]any{"nodes": "10.128.0.0/10", "pods": c.pods,
				"services": "10.192.0.0/10"}},
		}
		if diff := cmp.Diff(c.want, fields.Warnings("Shoot", object, nil)); diff != "" {
			t.Errorf("nodes %q, pods %s (-want +got):\n%s", c.nodes, c.pods, diff)
		}
	}
}

func TestWarnings_ManyFields_AreBounded(t *testing.T) {
	t.Parallel()
	object := map[string]any{}
	for _, leaf := range fields.Leaves("Shoot") {
		fieldstest.Set(t, object, fieldstest.Place(leaf.Path), fieldstest.Sample(t, leaf))
	}
	got := fields.Warnings("Shoot", object, nil)
	if len(got) != 21 || !strings.HasSuffix(got[20], "more warnings of fields without effect") {
		t.Errorf("got %d warnings, want 20 and the number of the others:\n%s", len(got), strings.Join(got, "\n"))
	}
	const of = "spec.kubernetes.kubeAPIServer."
	want := of + "admissionPlugins[0], " + of + "apiAudiences[0], " + of + "auditConfig and 13 more: "
	if !slices.ContainsFunc(got, func(text string) bool { return strings.HasPrefix(text, want) }) {
		t.Errorf("no warning begins with %q:\n%s", want, strings.Join(got, "\n"))
	}
}
