// Package scenarios is the catalogue: scenario files by purpose, and the schemas of the files that users write. The
// program carries them, so that it runs scenarios by name wherever it is.
//
// It reads and checks nothing: that is for package scenario.
package scenarios

import "embed"

// Files are the scenario files, each in the folder of its purpose, and the schemas of scenario files and of
// ExtensionDeployments.
//
//go:embed */*.yaml *.schema.json
var Files embed.FS
