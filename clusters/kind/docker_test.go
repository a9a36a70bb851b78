package kind

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/clusters/kind/docker"
)

func TestWithoutDockerThereIsOneClearLine(t *testing.T) {
	for name, set := range map[string]func(){
		"no daemon":  func() { t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none.sock")) },
		"no command": func() { t.Setenv("PATH", t.TempDir()) },
	} {
		set()
		_, err := Start(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "landscape")})
		if !errors.Is(err, docker.ErrUnavailable) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v", name, err)
		}
		t.Logf("%s: %v", name, err)
	}
}
