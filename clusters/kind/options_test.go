package kind

import (
	"strings"
	"testing"
)

func TestNamesThatDockerOrKubernetesWouldNotTake(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		options Options
		want    string
	}{
		{"no DNS label", Options{Seeds: []string{"A"}}, `name the seed "A"`},
		{"the garden's name", Options{Seeds: []string{"garden"}}, "used twice"},
		{"twice", Options{Seeds: []string{"a", "a"}}, "used twice"},
		{"too long for a host", Options{Seeds: []string{strings.Repeat("a", 30)}}, "longer than 63 characters"},
		{"fits", Options{Seeds: []string{strings.Repeat("a", 20)}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := test.options.complete()
			if test.want == "" && err == nil {
				return
			}
			if test.want == "" || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestLandscapesOfOtherFoldersHaveOtherNames(t *testing.T) {
	t.Parallel()
	one, other := prefix("/home/one/default", "default"), prefix("/home/other/default", "default")
	if one == other {
		t.Errorf("both are %q", one)
	}
	if strings.HasPrefix(prefix("/home/one/default-b", "default-b"), one) {
		t.Errorf("%q is taken for one of landscape default", one)
	}
}
