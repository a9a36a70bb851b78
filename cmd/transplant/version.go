package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/api/output"
	"github.com/transplant-sim/transplant/clusters/embedded/binary"
	"github.com/transplant-sim/transplant/cmd/transplant/actors"
)

// versions of this program, and of what it starts.
type versions struct {
	Transplant string `json:"transplant"`
	Commit     string `json:"commit"`          // "unknown" if the build did not know it
	Dirty      bool   `json:"dirty,omitempty"` // whether there were changes that no commit has
	Go         string `json:"go"`
	Platform   string `json:"platform"`
	Kubernetes string `json:"kubernetes"`
	Etcd       string `json:"etcd"`
}

func newVersion() *cobra.Command {
	var form *output.Form
	command := &cobra.Command{
		Use: "version", Short: "Print the versions of this program, and of Kubernetes and etcd in its landscapes",
		Long: `Print the versions of this program, and of Kubernetes and etcd in its landscapes. A binary that
$` + binary.Variable + ` names may have other ones.`,
		Example: "  transplant version\n  transplant version -o json",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			v, err := readVersions()
			if err != nil {
				return err
			}
			return form.Print(command.OutOrStdout(), v, v.print)
		},
	}
	form = output.AddFlag(command)
	return command
}

func readVersions() (versions, error) {
	v := versions{Transplant: actors.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	var err error
	if v.Kubernetes, err = binary.Version("k8s.io/kubernetes"); err != nil {
		return v, err
	}
	if v.Etcd, err = binary.Version("go.etcd.io/etcd/server/v3"); err != nil {
		return v, err
	}
	v.Commit, v.Dirty = commit()
	return v, nil
}

// commit that the program was built of, and whether there were changes that it does not have.
func commit() (revision string, dirty bool) {
	if built, known := debug.ReadBuildInfo(); known {
		for _, s := range built.Settings {
			switch s.Key {
			case "vcs.revision":
				revision = s.Value
			case "vcs.modified":
				dirty = s.Value == "true"
			}
		}
	}
	return cmp.Or(revision, "unknown"), dirty
}

// builtAs is the version of this program with its commit.
func builtAs() string {
	revision, dirty := commit()
	changed := ""
	if dirty {
		changed = ", with changes"
	}
	return fmt.Sprintf("transplant %s (commit %s%s)", actors.Version, revision, changed)
}

func (v versions) print(out io.Writer) error {
	_, err := fmt.Fprintf(out, "%s\nbuilt with %s for %s\nKubernetes %s, etcd %s\n", builtAs(), v.Go, v.Platform,
		v.Kubernetes, v.Etcd)
	return err
}
