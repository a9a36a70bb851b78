package actors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/toleration"
)

// TestAdmissionControlConfigFile_ListsReachTheAdmission, and a file that cannot be read ends the program before it
// begins.
func TestAdmissionControlConfigFile_ListsReachTheAdmission(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	text := `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ShootTolerationRestriction
  configuration:
    apiVersion: shoottolerationrestriction.admission.gardener.cloud/v1alpha1
    kind: Configuration
    defaults: [{key: shared}]
    whitelist: [{key: shared}, {key: dedicated}]
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want toleration.Lists
		err  string
	}{
		"none": {nil, toleration.Lists{}, ""},
		"lists": {[]string{"--admission-control-config-file=" + path}, toleration.Lists{
			Defaults:  []gardencorev1beta1.Toleration{{Key: "shared"}},
			Whitelist: []gardencorev1beta1.Toleration{{Key: "shared"}, {Key: "dedicated"}},
		}, ""},
		"no file": {[]string{"--admission-control-config-file=/nowhere"}, toleration.Lists{},
			"parse --admission-control-config-file: read the admission configuration: open /nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &gardenControllerManagerFlags{}
			if err := f.command().ParseFlags(c.args); err != nil {
				t.Fatal(err)
			}
			err := f.completeWebhook(nil)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if diff := cmp.Diff(c.want, f.webhook.Tolerations); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
