package expression_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/expression"
)

// A value that a field never has is found, however it is asked for.
func TestImpossibleValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`shoot('a').conditions['ControlPlaneHealthy'] == 'true'`: {
			"true"},
		`'ok' != shoot('a').constraints['HibernationPossible']`: {"ok"},
		`shoot('a').conditions.EveryNodeReady in ['True', 'Ready']`: {
			"Ready"},
		`seed('a').conditions['GardenletReady'] == 'yes'`: {"yes"},
		`shoot('a').conditions.all(c, shoot('a').conditions[c] == 'Fine')`: {
			"Fine"},
		`shoot('a').conditions['Own'] in ['True','False','Unknown','Progressing']`: nil,
		`shoot('a').reasons['EveryNodeReady'] == 'NodesMissing'`:                   nil,
		`'ERR_INFRA_QUOTA_EXCEDED' in shoot('a').errorCodes`: {
			"ERR_INFRA_QUOTA_EXCEDED"},
		`shoot('a').errorCodes == ['ERR_INFRA_UNAUTHORIZED', 'ERR_CLEANUP_CLUSTER_RESOURCE', 'ERR_OF_MY_EXTENSION']`: {
			"ERR_CLEANUP_CLUSTER_RESOURCE"},
		`shoot('a').errorCodes != [] && shoot('a').errorCodes[0] == 'ERR_INFRA_QUOTA_EXCEDED'`: {
			"ERR_INFRA_QUOTA_EXCEDED"},
		`shoot('a').errorCodes.exists(c, c == 'ERR_INFRA_QUOTA_EXCEDED' || c == 'ERR_INFRA_DEPENDENCIES')`: {
			"ERR_INFRA_QUOTA_EXCEDED"},
		`'Anything' in shoot('a').warnings && shoot('a').lastErrors == ['any']`: nil,
	} {
		e, err := expression.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, impossible := range e.Impossible() {
			got = append(got, impossible.Value)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// What is nearly the type of a condition is refused, and one that is found elsewhere; those of users are not.
func TestTypesOfConditions(t *testing.T) {
	t.Parallel()
	const conditions = "known are APIServerAvailable, ControlPlaneHealthy, ObservabilityComponentsHealthy, " +
		"EveryNodeReady, SystemComponentsHealthy"
	for text, want := range map[string]string{
		`shoot('a').conditions['ControlPlaneHealty'] == 'True'`: `shoot(…).conditions has no "ControlPlaneHealty"; ` +
			`did you mean "ControlPlaneHealthy"? ` + conditions,
		`shoot('a').conditions.everyNodeReady == 'True'`: `shoot(…).conditions has no "everyNodeReady"; ` +
			`did you mean "EveryNodeReady"? ` + conditions,
		`!('EveryNodesReady' in shoot('a').conditions)`:          `did you mean "EveryNodeReady"?`,
		`has(shoot('a').conditions.EveryNodesReady)`:             `did you mean "EveryNodeReady"?`,
		`shoot('a').conditions.all(c, c in ['EveryNodesReady'])`: `did you mean "EveryNodeReady"?`,
		`shoot('a').conditions.exists(c, c.startsWith('Every'))`: "",
		`shoot('a').constraints['HibernatePossible'] == 'True'`: `shoot(…).constraints has no "HibernatePossible"; ` +
			`did you mean "HibernationPossible"?`,
		`shoot('a').reasons['EveryNodReady'] == ''`: `did you mean "EveryNodeReady"?`,
		`seed('a').conditions['GardnletReady'] == 'True'`: `seed(…).conditions has no "GardnletReady"; ` +
			`did you mean "GardenletReady"?`,
		`shoot('a').conditions['HibernationPossible'] == 'True'`: `shoot(…).conditions has no "HibernationPossible"; ` +
			`it is in shoot(…).constraints`,
		`seed('a').conditions['EveryNodeReady'] == 'True'`: `seed(…).conditions has no "EveryNodeReady"; ` +
			`it is in shoot(…).conditions`,
		`shoot('a').conditions['DatabaseHealthy'] == 'True'`:          "",
		`'DatabaseHealthy' in shoot('a').constraints`:                 "",
		`seed('a').conditions['Ready'] == 'True'`:                     "",
		`shoot('a').conditions[shoot('a').seed] == shoot('a').status`: "",
	} {
		_, err := expression.Compile(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// Whatever the API has a name for may be asked for.
func TestClosedSetsAreComplete(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, constant, ask string }{
		{"condition.go", `\tShoot\w+ ConditionType`, `shoot('a').reasons['%s'] == 'x'`},
		{"condition.go", `\tSeed\w+ ConditionType`, `seed('a').conditions['%s'] == 'True'`},
		{"condition.go", `ConditionStatus`, `seed('a').conditions['GardenletReady'] == '%s'`},
		{"operation.go", `ErrorCode`, `'%s' in shoot('a').errorCodes`},
	} {
		source, err := os.ReadFile("../../api/core/v1beta1/" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(c.constant+` = "(\w+)"`).FindAllStringSubmatch(string(source), -1)
		if len(found) == 0 {
			t.Errorf("%s is not in %s", c.constant, c.file)
		}
		for _, one := range found {
			e, err := expression.Compile(fmt.Sprintf(c.ask, one[1]))
			if err != nil || len(e.Impossible()) > 0 {
				t.Errorf("%s: %v", one[1], err)
			}
			// That it is known shows in what is said of one that is nearly it, or is none.
			nearly := fmt.Sprintf(c.ask, strings.ToUpper(one[1])+"x")
			if e, err := expression.Compile(nearly); err == nil && len(e.Impossible()) == 0 {
				t.Errorf("%s is accepted", nearly)
			} else if err == nil && !slices.Contains(e.Impossible()[0].Known, one[1]) || err != nil &&
				!strings.Contains(err.Error(), one[1]) {
				t.Errorf("%s: %s is not known", nearly, one[1])
			}
		}
	}
}
