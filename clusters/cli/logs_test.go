package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

func TestLogsOfPodsAreListed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, file := range []string{
		"logs/cloud.log", "clusters/b/logs/etcd.log",
		"clusters/b/pods/7ce4f2af-a7cf/containers/guard/9.log", "clusters/b/pods/7ce4f2af-a7cf/containers/guard/10.log",
		"clusters/b/pods/7ce4f2af-a7cf/containers/etcd/0.log", "clusters/a/pods/0123456789/containers/gardenlet/0.log",
		"clusters/a/pods/0123456789/hosts",
	} {
		path := filepath.Join(folder, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for _, one := range findLogs(rundir.At("tale", folder)) {
		path, err := filepath.Rel(folder, one.path)
		if err != nil {
			t.Fatal(err)
		}
		got[one.name] = path
	}
	want := map[string]string{
		"cloud": "logs/cloud.log", "b/etcd": "clusters/b/logs/etcd.log",
		"b/guard@7ce4f2af.9":   "clusters/b/pods/7ce4f2af-a7cf/containers/guard/9.log",
		"b/guard@7ce4f2af":     "clusters/b/pods/7ce4f2af-a7cf/containers/guard/10.log",
		"b/etcd@7ce4f2af":      "clusters/b/pods/7ce4f2af-a7cf/containers/etcd/0.log",
		"a/gardenlet@01234567": "clusters/a/pods/0123456789/containers/gardenlet/0.log",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}

func TestChoose_BeginningOfOneLog_IsEnough(t *testing.T) {
	t.Parallel()
	var logs []processLog
	for _, name := range []string{"supervisor", "a/etcd", "a/guard@01.9", "a/guard@01", "a/guard@02", "b/guard@03.1",
		"b/guard@03"} {
		logs = append(logs, processLog{name: name})
	}
	for begun, want := range map[string]string{
		"a/etcd": "a/etcd", "s": "supervisor", "b/g": "b/guard@03", "a/guard@01": "a/guard@01", "a/guard@01.": "a/guard@01.9",
		"c": `find the log of "c": there are supervisor, a/etcd, `,
		"a": `find the log of "a": several begin so: give more of a/etcd, a/guard@01, a/guard@02`,
	} {
		got, err := choose(logs, begun)
		if err != nil && !strings.HasPrefix(err.Error(), want) || err == nil && got.name != want {
			t.Errorf("%s: %q, %v; want %s", begun, got.name, err, want)
		}
	}
}

func TestNewer_LinesOfEachForm_ThoseAfterTheMoment(t *testing.T) {
	t.Parallel()
	now := time.Now()
	old, young := now.Add(-time.Hour), now.Add(-time.Second)
	klog := func(at time.Time) string { return at.Format("I0102 15:04:05.000000") + "   1 a.go:1] said" }
	json := func(at time.Time) string {
		return `{"level":"info","ts":"` + at.UTC().Format(time.RFC3339Nano) + `","msg":"said"}`
	}
	container := func(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) + " stderr F said" }
	for name, form := range map[string]func(time.Time) string{"klog": klog, "json": json, "container": container} {
		var out bytes.Buffer
		in := newer(&out, now.Add(-time.Minute))
		text := "before all\n" + form(old) + "\nof the old line\n" + form(young) + "\nof the young line\n"
		for half := range strings.SplitAfterSeq(text, "0") { // however it is cut
			if n, err := in.Write([]byte(half)); err != nil || n != len(half) {
				t.Fatal(n, err)
			}
		}
		if _, err := in.Write([]byte("cut off")); err != nil {
			t.Fatal(err)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		if want := form(young) + "\nof the young line\ncut off"; out.String() != want {
			t.Errorf("%s: %q, want %q", name, &out, want)
		}
	}
}

// The log of klog has no year.
func TestMomentOf_TurnOfTheYear_IsInThePast(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 1, 0, 0, 5, 0, time.UTC)
	want := time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC)
	if got := momentOf([]byte("I1231 23:59:59.000000   1 a.go:1] said"), now); !got.Equal(want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
