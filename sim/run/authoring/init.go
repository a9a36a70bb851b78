package authoring

import (
	"bytes"
	_ "embed" // for the form of a new scenario
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/transplant-sim/transplant/api/spelling"
)

// form of a new scenario, with NAME for its name.
//
//go:embed scenario.yaml
var form []byte

// schemas by what they describe, and their files among those of the catalogue.
var schemas = map[string]string{
	"scenario": "scenario.schema.json", "extension": "extensiondeployment.schema.json",
}

// NewInitCommand is the command `init NAME`, with the files of the catalogue, which has the schemas.
func NewInitCommand(files fs.FS) *cobra.Command {
	var folder string
	command := &cobra.Command{
		Use: "init NAME", Short: "Write a new scenario, with a comment at each part",
		Long: `Write a new scenario, NAME.yaml, with a comment at each part. It can be run as it stands.

Beside it the command writes ` + schemas["scenario"] + `, for which editors with a YAML language server look: they
complete and check the file with it. The command never overwrites a scenario.`,
		Example: `  transplant init my-scenario
  transplant validate ./my-scenario.yaml
  transplant run ./my-scenario.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, arguments []string) error {
			content := bytes.ReplaceAll(form, []byte("NAME"), []byte(arguments[0]))
			path, err := Begin(files, folder, "scenario", arguments[0], content)
			if err != nil {
				return err
			}
			if !strings.ContainsRune(path, filepath.Separator) {
				path = "." + string(filepath.Separator) + path // an argument without one may be a name
			}
			fmt.Fprintf(command.OutOrStdout(), "%s is there. Change it, then:\n\n  %[2]s validate %[1]s\n  %[2]s run %[1]s\n",
				path, command.Root().Name())
			return nil
		},
	}
	command.Flags().StringVar(&folder, "folder", ".", "folder to write into; it is made if it is missing")
	return command
}

// Begin writes a new file NAME.yaml into a folder, which is made if it is missing, and beside it the schema of what the
// file describes: a scenario or an extension. It never overwrites one.
func Begin(files fs.FS, folder, what, name string, content []byte) (path string, err error) {
	if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
		return "", fmt.Errorf("init %q: the name is a DNS label, such as my-%s: %s", name, what, strings.Join(wrong, "; "))
	}
	schema, err := fs.ReadFile(files, schemas[what])
	if err != nil {
		return "", fmt.Errorf("read the schema: %w", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("make the folder for the %s: %w", what, err)
	}
	path = filepath.Join(folder, name+".yaml")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("write %s: it is there already: choose another name, or remove it", path)
	}
	if err != nil {
		return "", fmt.Errorf("write the %s: %w", what, err)
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Close(), os.WriteFile(filepath.Join(folder, schemas[what]), schema, 0o644))
	if err != nil {
		return "", fmt.Errorf("write the %s: %w", what, err)
	}
	return path, nil
}

// NewSchemaCommand is the command `schema`, with the files of the catalogue, which has the schemas.
func NewSchemaCommand(files fs.FS) *cobra.Command {
	known := []string{"scenario", "extension"}
	return &cobra.Command{
		Use: "schema scenario|extension", Short: "Print the JSON Schema of a kind of file, for editors",
		Long: `Print the JSON Schema of scenario files, or of the files that --extension takes. An editor with a YAML
language server completes and checks files with it, if their first line is

  # yaml-language-server: $schema=` + schemas["scenario"],
		Example:   "  transplant schema scenario > " + schemas["scenario"],
		Args:      cobra.ExactArgs(1),
		ValidArgs: known,
		RunE: func(command *cobra.Command, arguments []string) error {
			file := schemas[arguments[0]]
			if file == "" {
				return fmt.Errorf("find the schema of %q: %s", arguments[0], spelling.Suggest(arguments[0], known))
			}
			schema, err := fs.ReadFile(files, file)
			if err != nil {
				return fmt.Errorf("read the schema: %w", err)
			}
			_, err = command.OutOrStdout().Write(schema)
			return err
		},
	}
}
