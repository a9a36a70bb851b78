//go:build docker

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/transplant-sim/transplant/sim/contract"
)

// An extension that is an image, with a static program and nothing else in it, is judged on kind clusters as well: what
// keeps the contract is Conformant with a crash at each of its writes, and a planted bug is named by its clause, also
// one that shows only if the extension is killed. With TRANSPLANT_EXAMPLES=all these are all clauses.
func TestContractKind_Image_IsJudged(t *testing.T) {
	want := map[string][]string{"keeps": nil, "breaks-b3": {"B3"}, "breaks-" + crashBug: {contract.ByCrashes}}
	file := contractFile(t, []string{"keeps", "breaks-b3", "breaks-" + crashBug})
	const image = "transplant.dev/e2e-contract:dev"
	replace(t, file, "binary: program", "image: "+image)
	folder := filepath.Dir(file)
	recipe := "FROM scratch\nCOPY program /program\nENTRYPOINT [\"/program\"]\n"
	if err := os.WriteFile(filepath.Join(folder, "Dockerfile"), []byte(recipe), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "docker", "build", "--tag", image, folder)
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the image: %v\n%s", err, said)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "image", "rm", image).Run() })
	// Nothing else runs beside it: answers have more time, and what is waited in any case is as short as it can be.
	for range want {
		replace(t, file, "reconcileTimeout: 10s", "reconcileTimeout: 30s")
	}
	flags := []string{"--backend", "kind", "--timeout-multiplier", "1", "--clause", "B3," + contract.ByCrashes}
	if all() {
		flags = flags[:4]
	}
	report, code := tryContract(t, file, flags...)
	if code != 1 || len(report.Kinds) != len(want) {
		t.Fatalf("exit code %d, want 1: %+v", code, report)
	}
	if len(report.Programs) != 1 || report.Programs[0].Name != filepath.Base(image) ||
		len(report.Programs[0].SHA256) != 64 {
		t.Errorf("the report is of %+v, want the image", report.Programs)
	}
	for _, kind := range report.Kinds {
		checkBroken(t, kind, want[kind.Type]...)
		for id, f := range kind.Findings {
			if f.Outcome == contract.Unknown {
				t.Errorf("%s: %s is Unknown: %s", kind.Type, id, f.Reason)
			}
		}
	}
}
