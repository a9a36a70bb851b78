package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"golang.org/x/mod/module"

	"github.com/transplant-sim/transplant/api/output"
	"github.com/transplant-sim/transplant/clusters/embedded/binary"
	"github.com/transplant-sim/transplant/cmd/transplant/actors"
)

const unknownCommit = "unknown"

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
	v.Commit, v.Dirty = commit(buildInfo())
	v.Commit = cmp.Or(v.Commit, unknownCommit)
	return v, nil
}

// commit that the program was built of, and whether there were changes that it does not have. It is empty if the build
// knew none, as that of a tag by "go install".
func commit(built *debug.BuildInfo) (revision string, dirty bool) {
	for _, s := range built.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if short, err := module.PseudoVersionRev(built.Main.Version); revision == "" && err == nil {
		return short, false // "go install" of what has no tag: the version names the commit
	}
	return revision, dirty
}

// buildInfo of this program. It is empty if the program has none.
func buildInfo() *debug.BuildInfo {
	if built, known := debug.ReadBuildInfo(); known {
		return built
	}
	return &debug.BuildInfo{}
}

// builtAs is the version of this program with its commit.
func builtAs() string { return named(actors.Version, buildInfo()) }

func named(version string, built *debug.BuildInfo) string {
	revision, dirty := commit(built)
	switch {
	case dirty:
		return fmt.Sprintf("transplant %s (commit %s, with changes)", version, revision)
	case revision == "" && built.Main.Version == version:
		return "transplant " + version // the tag says which commit
	default:
		return fmt.Sprintf("transplant %s (commit %s)", version, cmp.Or(revision, unknownCommit))
	}
}

func (v versions) print(out io.Writer) error {
	_, err := fmt.Fprintf(out, "%s\nbuilt with %s for %s\nKubernetes %s, etcd %s\n", builtAs(), v.Go, v.Platform,
		v.Kubernetes, v.Etcd)
	return err
}
