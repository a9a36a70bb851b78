package thirdparty_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario/thirdparty"
)

const vault = `apiVersion: transplant.dev/v1alpha1
kind: ExtensionDeployment
metadata: {name: my-vault}
spec:
  resources: [{kind: Extension, type: vault}, {kind: Network, type: transplant, stateMayChange: true}]
  binary: vault
  providerConfig: {size: 3}
`

// extensionFile is a file beside a program and other files, which are given by name.
func extensionFile(t *testing.T, text string, others ...[2]string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "vault.yaml")
	for _, one := range append(others, [2]string{"vault.yaml", text}, [2]string{"vault", "#!"}) {
		path := filepath.Join(filepath.Dir(file), one[0])
		if err := os.WriteFile(path, []byte(one[1]), 0o755); err != nil { //nolint:gosec // one is a program
			t.Fatal(err)
		}
	}
	return file
}

// The flag holds files against each other: they are to run together.
func TestFlag_TwoFilesAlike_AreHeldAgainstEachOther(t *testing.T) {
	t.Parallel()
	first := extensionFile(t, vault)
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	given := thirdparty.Flag{}
	given.AddFlag(flags)
	if err := flags.Parse([]string{"--extension", first, "--extension", extensionFile(t, vault)}); err != nil {
		t.Fatal(err)
	}
	second := landscape.ExtensionResource{Kind: "Network", Type: "transplant", Primary: new(bool)}
	if second.IsPrimary() || !(landscape.ExtensionResource{}).IsPrimary() {
		t.Error("an extension decides unless it is not primary")
	}
	_, err := given.Parse()
	for _, want := range []string{
		`metadata.name: "my-vault" is also the name of the extension in ` + first,
		"spec.resources[0]: Extension/vault is reconciled by the extension in " + first + ", too; only one may",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// Beside the extension that decides about objects others may act on them.
func TestFlag_NotPrimary_IsBesideTheOneThatDecides(t *testing.T) {
	t.Parallel()
	other := strings.NewReplacer("my-vault", "my-auditor", "type: vault}", "type: vault, primary: false}",
		"  providerConfig: {size: 3}\n", "", ", {kind: Network, type: transplant, stateMayChange: true}", "")
	given := thirdparty.Flag{Files: []string{extensionFile(t, vault), extensionFile(t, other.Replace(vault))}}
	extensions, err := given.Parse()
	if err != nil || len(extensions) != 2 {
		t.Fatalf("%v, %v", extensions, err)
	}
	if types := extensions[1].Types(); len(types) > 0 {
		t.Errorf("shoots get %q of one that is not primary", types)
	}
}

// What a landscape asks for has somebody who reconciles it, and nobody reconciles what it does not ask for.
func TestFlag_TypesAskedFor_AreThoseThatAreReconciled(t *testing.T) {
	t.Parallel()
	const calico = `apiVersion: transplant.dev/v1alpha1
kind: ExtensionDeployment
metadata: {name: calico}
spec:
  resources: [{kind: Network, type: calico}]
  binary: vault
  shoot: {spec: {networking: {type: calico}}}
`
	const gardenLinux = `apiVersion: transplant.dev/v1alpha1
kind: ExtensionDeployment
metadata: {name: garden-linux}
spec:
  resources: [{kind: OperatingSystemConfig, type: gardenlinux}, {kind: ContainerRuntime, type: gvisor}]
  binary: vault
  workerPool:
    machine: {image: {name: gardenlinux, version: 1.0.0}}
    cri: {name: containerd, containerRuntimes: [{type: gvisor}]}
`
	const acme = `apiVersion: transplant.dev/v1alpha1
kind: ExtensionDeployment
metadata: {name: acme}
spec:
  resources:
  - {kind: Infrastructure, type: acme}
  - {kind: ControlPlane, type: acme}
  - {kind: Worker, type: acme}
  - {kind: DNSRecord, type: acme-dns}
  - {kind: BackupBucket, type: acme}
  - {kind: BackupEntry, type: acme}
  binary: vault
  shoot: {spec: {provider: {type: acme}}}
  cloudProfile: {spec: {type: acme}}
  seed: {spec: {dns: {internal: {type: acme-dns}}, backup: {provider: acme}}}
`
	for name, c := range map[string]struct{ file, old, new, want string }{
		"a network":                   {file: calico},
		"an operating system":         {file: gardenLinux},
		"a provider":                  {file: acme},
		"in place of the reference's": {calico, "type: calico}]", "type: transplant}]", "spec.shoot: asks for the type"},
		"nobody asks": {calico, "  shoot: {spec: {networking: {type: calico}}}\n", "", `:5:37: spec.resources[0].type: ` +
			`no Network of the landscape has the type "calico", but ["transplant"]; let the landscape ask for it with ` +
			`spec.shoot: {spec: {networking: {type: calico}}}`},
		"nobody reconciles": {acme, "  - {kind: Worker, type: acme}\n", "", `:12:10: spec.shoot: asks for the type "acme", ` +
			`and nobody reconciles Worker of it; known are ["transplant"]. ` +
			`Add {kind: Worker, type: acme} to spec.resources of an extension`},
		"another image": {gardenLinux, "image: {name: gardenlinux", "image: {name: flatcar",
			`spec.workerPool: asks for the type "flatcar", and nobody reconciles OperatingSystemConfig of it; ` +
				`known are ["simulated" "gardenlinux"]`},
		"no backups of the reference": {acme, "backup: {provider: acme}", "backup: {provider: other}",
			`spec.seed: asks for the type "other", and nobody reconciles BackupEntry of it`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(c.file, c.old) {
				t.Fatalf("there is no %q to be replaced", c.old)
			}
			given := thirdparty.Flag{Files: []string{extensionFile(t, strings.Replace(c.file, c.old, c.new, 1))}}
			_, err := given.Parse()
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), given.Files[0]+":") {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// A field that is from the file of a ControllerRegistration has its place there, as the file was given.
func TestFlag_TwoOfATypeFromRegistrations_ArePlacedThere(t *testing.T) {
	t.Parallel()
	const registration = `apiVersion: core.gardener.cloud/v1beta1
kind: ControllerRegistration
metadata: {name: vault}
spec:
  resources:
  - {kind: Bastion, type: vault}
  - {kind: Extension, type: vault}
`
	of := strings.Replace(vault, "resources: [{kind: Extension, type: vault}, {kind: Network, type: transplant, "+
		"stateMayChange: true}]", "registration: registration.yaml", 1)
	first := extensionFile(t, of, [2]string{"registration.yaml", registration})
	second := extensionFile(t, strings.Replace(of, "my-vault", "other", 1), [2]string{"registration.yaml", registration})
	given := thirdparty.Flag{Files: []string{first, second}}
	want := filepath.Join(filepath.Dir(second), "registration.yaml") +
		":7:5: spec.resources[1]: Extension/vault is reconciled by the extension in " + first
	if _, err := given.Parse(); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}
