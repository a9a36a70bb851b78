package binary

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// goMod is that of a small program with the name and the requirement of the real one; nothing is downloaded.
const goMod = module + `

go 1.26.0

require k8s.io/kubernetes v1.36.3

replace k8s.io/kubernetes v1.36.3 => ./kubernetes
`

const mainGo = `package main

import _ "k8s.io/kubernetes"

func main() { println("it works") }
`

// repository makes sources of a small control-plane binary and an empty cache.
func repository(t *testing.T) (source string) {
	t.Helper()
	root := t.TempDir()
	source = filepath.Join(root, "clusters", "controlplane")
	write(t, filepath.Join(source, "go.mod"), goMod)
	write(t, filepath.Join(source, "go.sum"), "")
	write(t, filepath.Join(source, "main.go"), mainGo+"\n// "+root+"\n") // nobody has compiled this one
	write(t, filepath.Join(source, "kubernetes", "go.mod"), "module k8s.io/kubernetes\n\ngo 1.26.0\n")
	write(t, filepath.Join(source, "kubernetes", "kubernetes.go"), "package kubernetes\n")
	t.Setenv(Variable, "")
	t.Setenv(SourceVariable, root)
	if os.Getenv("GOCACHE") == "" { // stays the usual one, so that the standard library is not compiled each time
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	needed := needBytes
	needBytes = 1 << 20
	t.Cleanup(func() { needBytes = needed })
	return source
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestEnsureBuildsOnce(t *testing.T) {
	repository(t)
	_, err := Find(t.Context())
	if !errors.Is(err, ErrNotBuilt) || !strings.Contains(err.Error(), "transplant controlplane") {
		t.Errorf("find what is not built: got %v, want ErrNotBuilt and what to do", err)
	}
	var mutex sync.Mutex
	finished := 0 // calls of progress with a finished package
	progress := func(done, total int, _ string) {
		mutex.Lock()
		defer mutex.Unlock()
		if total > 0 && done > total {
			t.Errorf("%d of %d packages are done", done, total)
		}
		if done > 0 {
			finished++
		}
	}
	paths := make([]string, 3)
	var group sync.WaitGroup
	for i := range paths {
		group.Go(func() {
			path, err := Ensure(t.Context(), progress)
			if err != nil {
				t.Error(err)
			}
			paths[i] = path
		})
	}
	group.Wait()
	if finished == 0 || finished > 200 {
		t.Errorf("progress was called %d times with a finished package", finished)
	}
	if paths[0] == "" || paths[1] != paths[0] || paths[2] != paths[0] {
		t.Fatalf("three callers got the paths %q", paths)
	}
	output, err := exec.Command(paths[0]).CombinedOutput()
	if err != nil || string(output) != "it works\n" {
		t.Errorf("the binary says %q, %v", output, err)
	}
	if diff := cmp.Diff([]string{"controlplane", "controlplane.lock"}, list(t, filepath.Dir(paths[0]))); diff != "" {
		t.Error(diff)
	}
	before := finished
	again, err := Ensure(t.Context(), progress)
	if err != nil || again != paths[0] || finished != before {
		t.Errorf("ensure again: %q, %v, and %d packages were built", again, err, finished-before)
	}
	if found, err := Find(t.Context()); err != nil || found != paths[0] {
		t.Errorf("find what is built: %q, %v", found, err)
	}
}

func list(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	source := repository(t)
	write(t, filepath.Join(source, "main.go"), "package main\n\nfunc main() { undefined() }\n")
	_, err := Ensure(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "undefined: undefined") {
		t.Errorf("got %v, want what the compiler says", err)
	}
	if _, err := Find(t.Context()); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("find after a failed build: got %v, want ErrNotBuilt", err)
	}
	write(t, filepath.Join(source, "main.go"), mainGo)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Ensure(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled build: got %v, want context.Canceled", err)
	}
	if _, err := Ensure(t.Context(), nil); err != nil {
		t.Errorf("build after a failed and a cancelled one: %v", err)
	}
}

func TestWaitForAnotherBuildCanBeCancelled(t *testing.T) {
	repository(t)
	source, err := findSource()
	if err != nil {
		t.Fatal(err)
	}
	path, err := cached(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := lock(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var message string
	_, err = Ensure(ctx, func(_, _ int, what string) { message = what; cancel() })
	if !errors.Is(err, context.Canceled) || !strings.Contains(message, "another build") {
		t.Errorf("got %v after %q, want context.Canceled after news of another build", err, message)
	}
}

func TestRefusals(t *testing.T) {
	tests := map[string]struct {
		set   map[string]string
		want  error
		texts []string
	}{
		"no go":     {map[string]string{"PATH": "/nowhere"}, ErrNoGo, []string{"install Go", Variable}},
		"no source": {map[string]string{SourceVariable: "/nowhere"}, ErrNoSource, []string{SourceVariable}},
		"missing": {map[string]string{Variable: "/nowhere/controlplane"}, ErrUnusable,
			[]string{Variable, "/nowhere/controlplane"}},
		"wrong":      {map[string]string{Variable: "/bin/echo"}, ErrUnusable, []string{"kubectl version --client"}},
		"unrunnable": {map[string]string{Variable: "/etc/passwd"}, ErrUnusable, []string{"permission denied"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			repository(t)
			for key, value := range test.set {
				t.Setenv(key, value)
			}
			for _, call := range []func() (string, error){
				func() (string, error) { return Find(t.Context()) },
				func() (string, error) { return Ensure(t.Context(), nil) },
			} {
				_, err := call()
				if !errors.Is(err, test.want) {
					t.Fatalf("got %v, want %v", err, test.want)
				}
				for _, text := range test.texts {
					if !strings.Contains(err.Error(), text) {
						t.Errorf("the error %q does not mention %q", err, text)
					}
				}
			}
		})
	}
}

func TestPrebuiltBinaryIsChecked(t *testing.T) {
	repository(t)
	fake := filepath.Join(t.TempDir(), "controlplane")
	write(t, fake, "#!/bin/sh\n[ \"$*\" = 'kubectl version --client' ] && echo Client Version: v1.36.3\n")
	t.Setenv(Variable, fake)
	t.Setenv(SourceVariable, "/nowhere") // neither sources nor Go are needed
	for _, call := range []func() (string, error){
		func() (string, error) { return Find(t.Context()) },
		func() (string, error) { return Ensure(t.Context(), nil) },
	} {
		if path, err := call(); err != nil || path != fake {
			t.Errorf("got %q, %v; want the prebuilt binary", path, err)
		}
	}
}

// The binary of a release lies beside the program, here this test. It is taken if it is of the same release.
func TestFind_BinaryOfARelease_IsBesideTheProgram(t *testing.T) {
	t.Setenv(Variable, "")
	t.Setenv(SourceVariable, "")
	t.Setenv("PATH", "/nowhere") // Go is not needed
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := Version(kubernetesModule)
	if err != nil {
		t.Fatal(err)
	}
	fake := filepath.Join(filepath.Dir(executable), Beside)
	t.Cleanup(func() { _ = os.Remove(fake) })
	for name, c := range map[string]struct {
		says string
		want error
	}{
		"of this release": {"Client Version: " + wanted, nil},
		"of another one":  {"Client Version: v1.2.3", ErrUnusable},
		"another program": {"hello", ErrUnusable},
	} {
		write(t, fake, "#!/bin/sh\necho "+c.says+"\n")
		for _, call := range []func() (string, error){
			func() (string, error) { return Find(t.Context()) },
			func() (string, error) { return Ensure(t.Context(), nil) },
		} {
			path, err := call()
			if path != fake || !errors.Is(err, c.want) {
				t.Errorf("%s: got %q, %v; want %q, %v", name, path, err, fake, c.want)
			}
		}
	}
}

// A release is built as the cache is.
func TestLinkerFlags_OfARelease_AreThoseOfABuild(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var release struct {
		Builds []struct {
			ID, Binary          string
			Env, Flags, Ldflags []string
		}
	}
	if err := yaml.Unmarshal(content, &release); err != nil {
		t.Fatal(err)
	}
	version, err := Version(kubernetesModule)
	if err != nil {
		t.Fatal(err)
	}
	for _, build := range release.Builds {
		if build.ID != program {
			continue
		}
		got := append(build.Flags, "-ldflags", strings.Join(build.Ldflags, " "))
		if diff := cmp.Diff(append(slices.Clone(buildFlags), linkerFlags(version)), got); diff != "" {
			t.Errorf("flags of the control-plane binary in a release (-want +got):\n%s", diff)
		}
		if build.Binary != Beside || !slices.Contains(build.Env, "CGO_ENABLED=0") {
			t.Errorf("it is called %q and built with %v, want %q without cgo", build.Binary, build.Env, Beside)
		}
		return
	}
	t.Error("a release has no control-plane binary")
}

func TestKeyFollowsTheSources(t *testing.T) {
	source := repository(t)
	key := func() string {
		t.Helper()
		key, err := Key(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	first := key()
	if first != key() {
		t.Error("the key of the same sources changes")
	}
	write(t, filepath.Join(source, "main_test.go"), "package main\n")
	write(t, filepath.Join(source, "README.md"), "hello\n")
	if first != key() {
		t.Error("the key changes with files that are not built")
	}
	for _, file := range []string{"main.go", "go.mod", "go.sum"} {
		before := key()
		content, err := os.ReadFile(filepath.Join(source, file))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(source, file), string(content)+"\n")
		if before == key() {
			t.Errorf("the key does not change with %s", file)
		}
	}
}

func TestVersionFlags(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	write(t, filepath.Join(source, "go.mod"),
		"module x\n\nrequire (\n\tk8s.io/kubectl v0.36.3\n\tk8s.io/kubernetes v1.36.3\n)\n")
	v, err := kubernetesVersion(source)
	if err != nil {
		t.Fatal(err)
	}
	want := "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3 -X k8s.io/component-base/version.gitMajor=1" +
		" -X k8s.io/component-base/version.gitMinor=36 -X k8s.io/component-base/version.gitTreeState=clean"
	if diff := cmp.Diff(want, linkerFlags(v)); diff != "" {
		t.Error(diff)
	}
	write(t, filepath.Join(source, "go.mod"), "module x\n")
	if _, err := kubernetesVersion(source); err == nil {
		t.Error("a go.mod without Kubernetes has a version")
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	if err := checkSpace(t.TempDir(), math.MaxUint64); !errors.Is(err, ErrDiskFull) {
		t.Errorf("got %v, want ErrDiskFull", err)
	}
	if err := checkSpace(t.TempDir(), 1); err != nil {
		t.Errorf("one byte does not fit: %v", err)
	}
	script := exec.Command("/bin/sh", "-c", "echo some/package; echo 'write x: no space left on device'; exit 1")
	if err := run(script, 1, func(int, int, string) {}); !errors.Is(err, ErrDiskFull) {
		t.Errorf("a build on a full disk: got %v, want ErrDiskFull", err)
	}
}

// The sources that a program carries are those of the repository, so that both have the same key.
func TestFindSource_NoVariable_UnpacksTheSourcesOfTheRepository(t *testing.T) {
	t.Setenv(SourceVariable, "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir("../../controlplane")
	folder, err := findSource()
	if err != nil {
		t.Fatal(err)
	}
	files := list(t, folder)
	if diff := cmp.Diff(list(t, "."), files); diff != "" {
		t.Errorf("the files are not those of clusters/controlplane: run go generate (-want +got):\n%s", diff)
	}
	for _, file := range files {
		got, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not that of clusters/controlplane: run go generate ./clusters/embedded/binary", file)
		}
	}
}
