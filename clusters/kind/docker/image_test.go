package docker

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What would not start in an image that holds nothing but programs is an error before there is one.
func TestProgramsThatWouldNotStartInAnEmptyImage(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := CheckProgram(script); err == nil ||
		!strings.Contains(err.Error(), "is a script, and its image holds no /bin/sh") {
		t.Errorf("a script: %v", err)
	}
	if err := CheckProgram(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("nothing: %v", err)
	}
	// The system's shell, which every Linux that we know links dynamically.
	if err := CheckProgram("/bin/sh"); err == nil || err.Error() != "it is not static: build it with CGO_ENABLED=0" {
		t.Errorf("a program of the system: %v", err)
	}
	foreign := filepath.Join(t.TempDir(), "foreign")
	var header bytes.Buffer
	if err := binary.Write(&header, binary.BigEndian, elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2MSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_S390), Version: uint32(elf.EV_CURRENT), Ehsize: 64,
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(foreign, header.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := CheckProgram(foreign); err == nil ||
		err.Error() != "is for another processor (EM_S390): build it with GOARCH="+runtime.GOARCH {
		t.Errorf("a program of a mainframe: %v", err)
	}
}

// answering has a docker command that knows images by what "docker image inspect" says of them.
func answering(t *testing.T, images map[string]string) {
	t.Helper()
	folder := t.TempDir()
	script := `#!/bin/sh
case "$1 $2" in
"version --format") echo linux/amd64 ;;
"image inspect") cat "` + folder + `/$(echo "$5" | tr /: __)" 2>/dev/null || ` +
		`{ echo "Error response from daemon: No such image: $5" >&2; exit 1; } ;;
esac
`
	if err := os.WriteFile(filepath.Join(folder, "docker"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, says := range images {
		if err := os.WriteFile(filepath.Join(folder, strings.NewReplacer("/", "_", ":", "_").Replace(name)), []byte(says),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
}

// What nodes would not find, or not start, is an error before there is a landscape: there it would be a pod that never
// runs.
func TestImagesThatNodesWouldNotRun(t *testing.T) {
	const fine = `{"RepoTags":["acme:dev","acme:latest","r.example:5000/acme:dev"],"Os":"linux","Architecture":"amd64",` +
		`"Config":{"Entrypoint":["/acme"],"Cmd":null}}`
	answering(t, map[string]string{
		"acme:dev": fine, "acme": fine, "docker.io/library/acme:dev": fine, "r.example:5000/acme:dev": fine, "4f2a": fine,
		"acme@sha256:4f2a": fine,
		"arm:dev":          `{"RepoTags":["arm:dev"],"Os":"linux","Architecture":"arm64","Config":{"Cmd":["/acme"]}}`,
		"empty:dev":        `{"RepoTags":["empty:dev"],"Os":"linux","Architecture":"amd64","Config":{}}`,
	})
	for name, c := range map[string]struct {
		image     string
		commanded bool
		want      string
	}{
		"by name and tag":     {image: "acme:dev"},
		"the latest":          {image: "acme"},
		"with Docker's own":   {image: "docker.io/library/acme:dev"},
		"of another registry": {image: "r.example:5000/acme:dev"},
		"by its id": {image: "4f2a",
			want: `nodes know images by name and tag, and Docker has this one as ["acme:dev" "acme:latest" ` +
				`"r.example:5000/acme:dev"]: give one of these, or make one with docker tag`},
		"by its digest": {image: "acme@sha256:4f2a", want: "nodes know images by name and tag"},
		"not there": {image: "none:dev",
			want: `there is no image "none:dev" in the Docker of this machine: pull or build it first`},
		"of another platform": {image: "arm:dev",
			want: "it is for linux/arm64, and the nodes are linux/amd64: pull or build it with --platform linux/amd64"},
		"nothing to start": {image: "empty:dev",
			want: "nothing says what to start in it: give the extension's spec.command, or the image an ENTRYPOINT"},
		"started by a command": {image: "empty:dev", commanded: true},
	} {
		err := CheckImage(t.Context(), c.image, c.commanded)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// Of an image that Docker keeps as a list of platforms, it may have pulled one.
func TestImagesOfManyPlatformsAreSavedAsOne(t *testing.T) {
	answering(t, map[string]string{
		"plain:dev": `{"RepoTags":["plain:dev"]}`,
		"one:dev":   `{"RepoTags":["one:dev"],"Descriptor":{"mediaType":"application/vnd.oci.image.manifest.v1+json"}}`,
		"many:dev":  `{"RepoTags":["many:dev"],"Descriptor":{"mediaType":"application/vnd.oci.image.index.v1+json"}}`,
	})
	for _, c := range []struct {
		local []string
		want  string
	}{
		{nil, ""}, {[]string{"plain:dev", "one:dev"}, ""}, {[]string{"plain:dev", "many:dev"}, "--platform linux/amd64"},
	} {
		if got, err := saveArguments(t.Context(), c.local); err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("of %v: %v, %v, want %q", c.local, got, err, c.want)
		}
	}
}
