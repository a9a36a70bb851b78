// Package admission is the garden's webhook server: it refuses what must not be written to Shoots, CloudProfiles, Seeds
// and Projects, says why in the style of the Kubernetes API (field path, value, what would be allowed), warns of fields
// without effect, and fills in what Gardener's API server would (docs/specification/migration.md#spec-2-2,
// docs/specification/care.md#spec-5-5, docs/specification/nodes-and-seeds.md#spec-7-2). It runs in the
// garden-controller-manager.
//
// The rules about values are package validation's. Those about other objects and about the state of an operation are
// package shootrules', and that about who asks is here. The package starts nothing that a rule has let pass, and judges
// no status: writes to a subresource never come here, nor those to metadata alone, unless they ask for something by an
// annotation.
package admission
