package contract

import (
	"bytes"
	_ "embed" // for the form of a new file
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/api/spelling"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/run/authoring"
	"github.com/transplant-sim/transplant/sim/scenario"
)

//go:embed extension.yaml
var formText string

var form = template.Must(template.New("extension.yaml").Parse(formText))

func newInit(files fs.FS) *cobra.Command {
	var kinds []string
	var folder string
	command := &cobra.Command{
		Use:   "init [NAME]",
		Short: "Write a first file of an extension, with a comment at each part",
		Long: `Write a first file of an extension, NAME.yaml, with a comment at each part. The name is that of the
extension; my-extension without one.

Beside it the command writes the schema of such files, for which editors with a YAML language server
look. The command never overwrites a file of an extension.`,
		Example: `  transplant contract init --kinds Infrastructure,Network
  transplant contract init my-network --kinds Network --folder try
  transplant contract ./my-extension.yaml`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, arguments []string) error {
			name := "my-extension"
			if len(arguments) > 0 {
				name = arguments[0]
			}
			path, err := begin(files, folder, name, kinds)
			if err != nil {
				return err
			}
			fmt.Fprintf(command.OutOrStdout(), "%s is there. Change it, build the program that it names, then:\n\n"+
				"  %s contract %s\n", path, command.Root().Name(), path)
			return nil
		},
	}
	command.Flags().StringSliceVar(&kinds, "kinds", nil, "kinds that it reconciles, such as Infrastructure,Network")
	completeList(command, "kinds", landscape.ExtensionKinds)
	command.Flags().StringVar(&folder, "folder", ".", "folder to write into; it is made if it is missing")
	return command
}

// resource of a new file.
type resource struct{ Kind, Type string }

// begin writes a new file and the schema.
func begin(files fs.FS, folder, name string, kinds []string) (path string, err error) {
	if len(name) > scenario.MaxExtensionName {
		return "", fmt.Errorf("init %q: the name of an extension has at most %d characters", name, scenario.MaxExtensionName)
	}
	resources, err := resourcesOf(name, kinds)
	if err != nil {
		return "", err
	}
	var content bytes.Buffer
	if err := form.Execute(&content, map[string]any{"Name": name, "Resources": resources}); err != nil {
		return "", fmt.Errorf("write the extension: %w", err)
	}
	return authoring.Begin(files, folder, "extension", name, content.Bytes())
}

// resourcesOf kinds, each once. The types are those that a landscape asks for without being changed.
func resourcesOf(name string, kinds []string) (found []resource, err error) {
	known := landscape.ExtensionKinds()
	if len(kinds) == 0 {
		return nil, fmt.Errorf("--kinds: is missing; known are %s", strings.Join(known, ", "))
	}
	for _, kind := range kinds {
		i := slices.IndexFunc(known, func(one string) bool { return strings.EqualFold(one, kind) })
		if i < 0 {
			return nil, fmt.Errorf("--kinds: there is no kind %q: %s", kind, spelling.Suggest(kind, known))
		}
		r := resource{Kind: known[i], Type: landscape.ReferenceType(known[i])}
		if r.Kind == extensionsv1alpha1.ExtensionResource {
			r.Type = name
		}
		if !slices.Contains(found, r) {
			found = append(found, r)
		}
	}
	return found, nil
}
