package version_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
)

var noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

func at(offset time.Duration) *metav1.Time { return ptr.To(metav1.NewTime(noon.Add(offset))) }

// profile reads versions with a letter for their class: E expired, D deprecated, P preview, U not available yet.
func profile(text string) []gardencorev1beta1.ExpirableVersion {
	var versions []gardencorev1beta1.ExpirableVersion
	for _, word := range strings.Fields(text) {
		v := gardencorev1beta1.ExpirableVersion{Version: strings.TrimRight(word, "EDPU")}
		switch strings.TrimPrefix(word, v.Version) {
		case "E":
			v.ExpirationDate = at(-time.Second)
		case "D":
			v.Classification = ptr.To(gardencorev1beta1.ClassificationDeprecated)
		case "P":
			v.Classification = ptr.To(gardencorev1beta1.ClassificationPreview)
		case "U":
			v.Lifecycle = []gardencorev1beta1.LifecycleStage{{Classification: gardencorev1beta1.ClassificationSupported,
				StartTime: at(time.Second)}}
		}
		versions = append(versions, v)
	}
	return versions
}

func TestClassAt(t *testing.T) {
	t.Parallel()
	stage := func(class gardencorev1beta1.VersionClassification, start *metav1.Time) gardencorev1beta1.LifecycleStage {
		return gardencorev1beta1.LifecycleStage{Classification: class, StartTime: start}
	}
	for name, c := range map[string]struct {
		version gardencorev1beta1.ExpirableVersion
		want    gardencorev1beta1.VersionClassification
	}{
		"nothing said": {gardencorev1beta1.ExpirableVersion{}, "supported"},
		"classification": {
			gardencorev1beta1.ExpirableVersion{Classification: ptr.To(gardencorev1beta1.ClassificationPreview)}, "preview"},
		"expires now": {gardencorev1beta1.ExpirableVersion{ExpirationDate: at(0)}, "supported"},
		"expired a moment ago": {gardencorev1beta1.ExpirableVersion{ExpirationDate: at(-1),
			Classification: ptr.To(gardencorev1beta1.ClassificationDeprecated)}, "expired"},
		"before the first stage": {gardencorev1beta1.ExpirableVersion{Lifecycle: []gardencorev1beta1.LifecycleStage{
			stage("preview", at(time.Hour))}}, "unavailable"},
		"a stage starts now": {gardencorev1beta1.ExpirableVersion{Lifecycle: []gardencorev1beta1.LifecycleStage{
			stage("preview", nil), stage("supported", at(0))}}, "preview"},
		"a stage started": {gardencorev1beta1.ExpirableVersion{Lifecycle: []gardencorev1beta1.LifecycleStage{
			stage("preview", nil), stage("supported", at(-1))}}, "supported"},
		"a lifecycle comes first": {gardencorev1beta1.ExpirableVersion{ExpirationDate: at(-time.Hour),
			Lifecycle: []gardencorev1beta1.LifecycleStage{stage("deprecated", nil)}}, "deprecated"},
		"the last stage that began": {gardencorev1beta1.ExpirableVersion{Lifecycle: []gardencorev1beta1.LifecycleStage{
			stage("supported", at(-2)), stage("expired", at(-1))}}, "expired"},
		"a later stage is to come": {gardencorev1beta1.ExpirableVersion{Lifecycle: []gardencorev1beta1.LifecycleStage{
			stage("supported", at(-2)), stage("expired", at(1))}}, "supported"},
		"a stage without any begin": {gardencorev1beta1.ExpirableVersion{Lifecycle: []gardencorev1beta1.LifecycleStage{
			stage("expired", nil)}}, "expired"},
		"classified as expired only": {
			gardencorev1beta1.ExpirableVersion{Classification: ptr.To(gardencorev1beta1.ClassificationExpired)}, "expired"},
	} {
		if got := version.ClassAt(c.version, noon); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestDecisions are the examples of docs/specification/versions.md#spec-4-4, and the rules of the documents that they
// leave out.
func TestDecisions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		strategy         version.Strategy
		profile, current string
		auto             bool
		want             string // class and version
	}{
		{"kubernetes", "1.33.1 1.33.4 1.34.0", "1.33.1", true, "auto 1.33.4"},
		{"kubernetes", "1.33.1 1.33.4D 1.33.2", "1.33.1", true, "auto 1.33.2"},
		{"kubernetes", "1.33.1 1.33.4D", "1.33.1", true, "auto 1.33.4"},
		{"kubernetes", "1.33.1 1.33.4P", "1.33.1", true, "none 1.33.1"},
		{"kubernetes", "1.33.1 1.33.4U", "1.33.1", true, "none 1.33.1"},
		{"kubernetes", "1.33.1 1.33.4E", "1.33.1", true, "none 1.33.1"},
		{"kubernetes", "1.33.1 1.33.4", "1.33.1", false, "none 1.33.1"},
		{"kubernetes", "1.33.1E 1.33.4", "1.33.1", false, "forced 1.33.4"},
		{"kubernetes", "1.33.1E 1.33.4D 1.34.0", "1.33.1", false, "forced 1.33.4"},
		{"kubernetes", "1.33.4E 1.34.0 1.34.2D", "1.33.4", false, "forced 1.34.2"},
		{"kubernetes", "1.33.4E 1.34.0E 1.35.0", "1.33.4", false, "forced 1.34.0"},
		{"kubernetes", "1.34.0E 1.35.0", "1.34.0", false, "forced 1.35.0"},
		{"kubernetes", "1.33.4E 1.34.0 1.34.1E", "1.33.4", false, "forced 1.34.0"},
		{"kubernetes", "1.33.4E 1.34.0U 1.34.1E", "1.33.4", false, "forced 1.34.1"},
		{"kubernetes", "1.33.4E 1.35.0", "1.33.4", false, "failed 1.33.4"},
		{"kubernetes", "1.33.4E 1.34.0P", "1.33.4", false, "failed 1.33.4"},
		{"kubernetes", "1.33.4E 2.34.0", "1.33.4", false, "failed 1.33.4"},
		{"kubernetes", "1.24.12E 1.26.9 1.25.10 1.25.9", "1.24.12", false, "forced 1.25.10"},
		{"kubernetes", "1.33.4 1.34.0", "1.33.3", false, "forced 1.33.4"},
		{"kubernetes", "v1.33.0 1.33.1", "1.33", true, "auto 1.33.1"},
		{"kubernetes", "1.33.1 latest", "1.33.1", true, "none 1.33.1"},
		{"kubernetes", "1.33.1", "latest", true, "failed latest"},
		{"patch", "1.1.0E 1.1.2", "1.1.0", false, "forced 1.1.2"},
		{"patch", "1.1.2E 1.2.0E 1.4.1", "1.1.2", false, "forced 1.2.0"},
		{"patch", "1.1.2E 1.4.1 1.4.3", "1.1.2", false, "forced 1.4.3"},
		{"patch", "1.1.2E 1.2.0P 1.4.1 1.4.3E", "1.1.2", false, "forced 1.4.1"},
		{"patch", "1.1.2E 1.4.1 2.2.0", "1.1.2", false, "forced 1.4.1"},
		{"patch", "1.1.2E 1.4.1 1.4.3E 2.2.0", "1.1.2", false, "forced 1.4.1"},
		{"patch", "1.1.2E 2.0.0", "1.1.2", false, "failed 1.1.2"},
		{"patch", "1.1.2 1.2.0", "1.1.2", true, "none 1.1.2"},
		{"patch", "1.1.0E 1.1.1E 1.1.2E 1.2.0", "1.1.0", false, "forced 1.2.0"},
		{"patch", "1.1.0E 1.1.1E 1.1.2E 1.1.3P", "1.1.0", false, "forced 1.1.2"},
		{"patch", "1.1.0E 1.1.2E 1.2.0E 1.3.0", "1.1.0", false, "forced 1.1.2"},
		{"patch", "1.1.2E 1.2.0E 1.2.1E", "1.1.2", true, "forced 1.2.1"},
		{"patch", "1.1.2E 2.0.0E", "1.1.2", false, "failed 1.1.2"},
		{"patch", "1.1.2E 1.2.0", "1.1.1", false, "forced 1.2.0"},
		{"patch", "1.1.2E", "1.1.1", false, "forced 1.1.2"},
		{"patch", "1.1.1 1.1.2E", "1.1.1", true, "none 1.1.1"},
		{"minor", "1.1.0E 1.1.2E 1.3.0E 2.0.0E", "1.1.0", false, "forced 1.1.2"},
		{"minor", "1.1.2E 1.3.0E 1.4.0E 2.0.0E", "1.1.2", false, "forced 1.4.0"},
		{"minor", "1.1.2E 1.3.0E 2.0.0", "1.1.2", false, "forced 2.0.0"},
		{"minor", "1.1.0E 1.1.2E 1.3.0E", "1.1.0", true, "forced 1.1.2"},
		{"minor", "1.3.0E 2.0.0E 2.1.0E", "1.3.0", false, "forced 2.1.0"},
		{"minor", "1.1.0 1.3.0E", "1.1.0", true, "none 1.1.0"},
		{"major", "1.0.0E 1.0.1E 2.0.0E", "1.0.0", true, "failed 1.0.0"},
		{"minor", "1.1.2 1.1.3 1.3.0", "1.1.2", true, "auto 1.1.3"},
		{"minor", "1.1.3 1.3.0 2.0.0", "1.1.3", true, "auto 1.3.0"},
		{"minor", "1.3.0E 3.0.1 3.1.0", "1.3.0", false, "forced 3.1.0"},
		{"minor", "1.3.0E 2.0.0P 3.0.1 3.1.0E", "1.3.0", false, "forced 3.0.1"},
		{"minor", "1.3.0E 2.0.0E 3.0.1", "1.3.0", false, "forced 2.0.0"},
		{"minor", "1.3.0E", "1.3.0", false, "failed 1.3.0"},
		{"major", "1.1.2 1.1.3 3.0.0", "1.1.2", true, "auto 1.1.3"},
		{"major", "1.1.3 2.0.0 3.0.0P", "1.1.3", true, "auto 2.0.0"},
		{"major", "3.0.0E 2.0.0", "3.0.0", true, "failed 3.0.0"},
		{"major", "3.0.0E 4.0.0E", "3.0.0", true, "failed 3.0.0"},
		{"major", "1.0.0 1.0.1-foo 1.0.1", "1.0.0", true, "auto 1.0.1"},
		{"major", "1.0 1.8", "1.0", true, "auto 1.8"},
	} {
		offers, _ := version.OffersAt(profile(c.profile), noon)
		component := version.Component{Noun: "x", Current: c.current, Offers: offers, Strategy: c.strategy,
			AutoUpdate: c.auto}
		if number, err := version.Parse(c.current); err == nil {
			if known, found := offers.Find(number); found {
				component.Known = &known
			}
		}
		update := component.Decide()
		if got := string(update.Class) + " " + update.To; got != c.want {
			t.Errorf("%s from %s, automatic %t, of %s: got %s, want %s", c.strategy, c.current, c.auto, c.profile, got, c.want)
		}
		if update.From != c.current || update.Reason == "" || (update.Failure != "") != (update.Class == version.Failed) ||
			(update.Cause != "") != (update.Class != version.None) {
			t.Errorf("%s of %s: incomplete: %+v", c.current, c.profile, update)
		}
	}
}

// TestDecide_HigherVersions_SaysWhyNot: each higher version has the reason why it was not chosen.
func TestDecide_HigherVersions_SaysWhyNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		strategy         version.Strategy
		profile, current string
		auto             bool
		want             []version.Unchosen
	}{
		{"kubernetes", "1.33.1 1.33.4 1.33.5D 1.33.6E 1.33.7P 1.33.8U 1.34.0 1.35.0", "1.33.1", true, []version.Unchosen{
			{"1.33.5", "is deprecated; 1.33.4 is not"}, {"1.33.6", "has expired; 1.33.4 has not"},
			{"1.33.7", "is a preview; maintenance never updates to one"},
			{"1.33.8", "is not available yet"}, {"1.34.0", "is beyond 1.33, whose newest patch comes first"},
			{"1.35.0", "is beyond 1.33, whose newest patch comes first"},
		}},
		{"kubernetes", "1.33.1 1.33.2E 1.34.0 1.35.0", "1.33.1", true, []version.Unchosen{
			{"1.33.2", "has expired itself"},
			{"1.34.0", "is another minor version; only an expired version is updated to the next one"},
			{"1.35.0", "would skip a minor version"},
		}},
		{"kubernetes", "1.33.1 1.33.2 1.34.0", "1.33.1", false, []version.Unchosen{
			{"1.33.2", "waits until automatic updates are on or the present version expires"},
			{"1.34.0", "is another minor version; only an expired version is updated to the next one"},
		}},
		{"kubernetes", "1.33.1E 1.34.0 1.34.1E 1.35.0", "1.33.1", true, []version.Unchosen{
			{"1.34.1", "has expired; 1.34.0 has not"},
			{"1.35.0", "would skip a minor version; maintenance goes one minor version at a time"},
		}},
		{"kubernetes", "1.33.1E 1.35.0", "1.33.1", true, []version.Unchosen{{"1.35.0", "would skip a minor version"}}},
		{"patch", "1.1.0E 1.2.0 1.3.0 2.0.0", "1.1.0", true, []version.Unchosen{
			{"1.3.0", "is of a later minor version; maintenance goes to the next one first"},
			{"2.0.0", "is of a later minor version; maintenance goes to the next one first"},
		}},
		{"patch", "1.1.0 1.2.0 2.0.0", "1.1.0", true, []version.Unchosen{
			{"1.2.0", `is beyond what the update strategy "patch" updates to before the present version has expired`},
			{"2.0.0", `is out of reach of the update strategy "patch"`},
		}},
		{"patch", "1.1.0E 1.1.1E 1.1.2E 1.2.0E", "1.1.0", true,
			[]version.Unchosen{{"1.2.0", "is beyond 1.1, whose newest patch comes first"}}},
		{"minor", "1.1.0E 1.2.0E 2.0.0E", "1.1.0", true,
			[]version.Unchosen{{"2.0.0", "is of a later major version; maintenance goes to the next one first"}}},
		{"minor", "1.1.0E 2.0.0 3.0.0", "1.1.0", true,
			[]version.Unchosen{{"3.0.0", "is of a later major version; maintenance goes to the next one first"}}},
		{"major", "1.1.0 2.0.0 3.0.0D", "1.1.0", true, []version.Unchosen{{"3.0.0", "is deprecated; 2.0.0 is not"}}},
	} {
		offers, _ := version.OffersAt(profile(c.profile), noon)
		known, _ := offers.FindText(c.current)
		component := version.Component{Noun: "x", Current: c.current, Known: &known, Offers: offers, Strategy: c.strategy,
			AutoUpdate: c.auto}
		if diff := cmp.Diff(c.want, component.Decide().Unchosen); diff != "" {
			t.Errorf("%s from %s, automatic %t, of %s (-want +got):\n%s", c.strategy, c.current, c.auto, c.profile, diff)
		}
	}
}

func TestAVersionThatDoesNotFitAnyMore(t *testing.T) {
	t.Parallel()
	offers, _ := version.OffersAt(profile("1.1.0 1.2.0"), noon)
	known, _ := offers.FindText("1.1.0")
	component := version.Component{Current: "1.1.0", Known: &known, Offers: offers[1:], Strategy: version.Patch,
		Misfit: "it is too old"}
	for auto, want := range map[bool]version.Class{true: version.Forced, false: version.Forced} {
		component.AutoUpdate = auto
		if update := component.Decide(); update.Class != want || update.To != "1.2.0" ||
			update.Reason != "Version does not fit the worker pool any more: it is too old" {
			t.Errorf("automatic %t: %+v", auto, update)
		}
	}
	component.Strategy, component.AutoUpdate = version.Minor, true
	if update := component.Decide(); update.Class != version.Automatic {
		t.Errorf("an automatic update would do: %+v", update)
	}
}

func TestOffersCannotAllBeRead(t *testing.T) {
	t.Parallel()
	offers, unreadable := version.OffersAt(profile("1.2.0 latest 1.10.0 1.1.0 1.x"), noon)
	var texts []string
	for _, offer := range offers {
		texts = append(texts, offer.Text)
	}
	if diff := cmp.Diff([]string{"1.1.0", "1.2.0", "1.10.0"}, texts) + cmp.Diff([]string{"1.x", "latest"},
		unreadable); diff != "" {
		t.Error(diff)
	}
}
