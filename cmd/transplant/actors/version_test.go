package actors

import "testing"

func TestIsRelease_BuildsOfTagsAlone(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"v0.1.0": true, "v1.2.3-rc.1": true, "": false, "(devel)": false,
		"v0.0.0-20261129174848-fbf0609a1b2c": false, "v0.1.1-0.20261129174848-fbf0609a1b2c": false, "v0.1.0+dirty": false,
	} {
		if got := isRelease(version); got != want {
			t.Errorf("%q: %t, want %t", version, got, want)
		}
	}
}
