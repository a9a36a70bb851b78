package v1alpha1

import (
	"errors"
	"strings"
	"testing"
)

// A file has what its Secret has under the key, which may be nothing. A Secret that is not there, or lacks the key,
// makes no empty file.
func TestFileContent_Secret_MustHaveTheKey(t *testing.T) {
	t.Parallel()
	broken := errors.New("no answer")
	for key, want := range map[string]string{"there": "", "empty": "", "missing": `secret "s" has no key "missing"`} {
		content := FileContent{SecretRef: &FileContentSecretRef{Name: "s", DataKey: key}}
		got, err := content.Read(func(name string) (map[string][]byte, error) {
			if name != "s" {
				t.Errorf("%q is read", name)
			}
			return map[string][]byte{"there": []byte("x"), "empty": {}}, nil
		})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v", key, got, err)
		}
		if _, err := content.Read(func(string) (map[string][]byte, error) { return nil, broken }); !errors.Is(err, broken) {
			t.Errorf("%s: %v, want %v", key, err, broken)
		}
	}
}
