//go:build docker

package e2e

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"

	"github.com/transplant-sim/transplant/clusters/kind/imagebuild"
	"github.com/transplant-sim/transplant/sim/verdict"
)

const (
	night       = "20260102-0304" // of the Jobs of docs/examples/kubernetes-job.yaml
	jobImage    = "transplant.dev/transplant:job"
	jobCluster  = "transplant-job"
	jobNode     = jobCluster + "-control-plane"
	adminConfig = "/etc/kubernetes/admin.conf" // in the node
)

// jobVolume is the claim's: a folder of the node, which all users may write into, as fsGroup makes it elsewhere.
const jobVolume = `apiVersion: v1
kind: PersistentVolume
metadata: {name: evidence}
spec:
  accessModes: [ReadWriteMany]
  capacity: {storage: 5Gi}
  claimRef: {namespace: transplant, name: evidence}
  hostPath: {path: /evidence}
`

// The Jobs of the documents run a tier in parts, in the image of a release and as a user without rights. Their summary
// has each scenario once, with the verdict of its part.
func TestKubernetesJob_Parts_AreMergedIntoOneSummary(t *testing.T) {
	l := newLandscape(t)
	l.startJobCluster(t)
	l.loadImage(t)
	l.inNode(t, "mkdir", "-m", "0777", "/evidence")
	l.kubectlInNode(t, nil, "create", "namespace", "transplant")
	l.kubectlInNode(t, []byte(jobVolume), "apply", "-f", "-")
	l.kubectlInNode(t, jobs(t), "-n", "transplant", "apply", "-f", "-")
	if state := l.ended(t, "disaster-recovery-"+night); state != "Complete" {
		t.Errorf("the parts are %s:\n%s", state, l.logs(t, "batch.kubernetes.io/job-name=disaster-recovery-"+night))
	}
	summary := "disaster-recovery-summary-" + night
	l.kubectlInNode(t, nil, "-n", "transplant", "patch", "job", summary, "-p", `{"spec":{"suspend":false}}`)
	state := l.ended(t, summary)
	said := l.logs(t, "batch.kubernetes.io/job-name="+summary)
	if state != "Complete" {
		t.Errorf("the summary is %s", state)
	}
	t.Logf("the summary:\n%s", said)

	var ran []string
	for part := range 3 {
		runs := l.evidence(t, part)
		if len(runs) == 0 {
			t.Errorf("part %d has run nothing", part)
		}
		for _, report := range runs {
			ran = append(ran, report.Scenario)
			if report.Verdict != verdict.Passed {
				t.Errorf("part %d: %s is %s: %+v %v", part, report.Scenario, report.Verdict, report.Violations, report.Reasons)
			}
		}
	}
	merged := struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Failures int    `xml:"failures,attr"`
			Errors   int    `xml:"errors,attr"`
		} `xml:"testsuite"`
	}{}
	if err := xml.Unmarshal([]byte(l.inNode(t, "cat", "/evidence/"+night+"/junit.xml")), &merged); err != nil {
		t.Fatal(err)
	}
	var inSummary []string
	for _, suite := range merged.Suites {
		inSummary = append(inSummary, suite.Name)
		if suite.Failures+suite.Errors > 0 {
			t.Errorf("in the summary, %+v has not passed", suite)
		}
	}
	want := l.smoke(t) // what one run of the tier would run
	for what, names := range map[string][]string{"all parts": ran, "the summary": inSummary} {
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("%s: %v, want %v", what, names, want)
		}
	}
}

func (l *landscape) startJobCluster(t *testing.T) {
	t.Helper()
	provider, config := cluster.NewProvider(), filepath.Join(l.home, "kubeconfig")
	remove := func() {
		if err := provider.Delete(jobCluster, config); err != nil {
			t.Errorf("delete the cluster: %v", err)
		}
	}
	remove() // one that a test has left
	t.Cleanup(remove)
	options := []cluster.CreateOption{
		cluster.CreateWithKubeconfigPath(config), cluster.CreateWithWaitForReady(3 * time.Minute),
		cluster.CreateWithDisplayUsage(false), cluster.CreateWithDisplaySalutation(false),
	}
	if image := os.Getenv("TRANSPLANT_NODE_IMAGE"); image != "" {
		options = append(options, cluster.CreateWithNodeImage(image))
	}
	if err := provider.Create(jobCluster, options...); err != nil {
		t.Fatal(err)
	}
}

// loadImage makes the image of the built programs as a release makes it of those in its archive.
func (l *landscape) loadImage(t *testing.T) {
	t.Helper()
	folder, platform := t.TempDir(), "linux/"+runtime.GOARCH
	programs := filepath.Join(folder, platform)
	for from, to := range map[string]string{
		program: filepath.Join(programs, "transplant"), l.kubectl: filepath.Join(programs, "transplant-controlplane"),
		"../LICENSE": filepath.Join(folder, "LICENSE"),
	} {
		if err := imagebuild.CopyFile(from, to, 0o755, nil); err != nil {
			t.Fatal(err)
		}
	}
	l.run(t, "docker", "build", "--quiet", "--build-arg", "TARGETPLATFORM="+platform, "--file", "../.ci/Dockerfile",
		"--tag", jobImage, folder)
	t.Cleanup(func() { _ = exec.Command("docker", "image", "rm", jobImage).Run() }) // it is large
	archive := filepath.Join(t.TempDir(), "image.tar")
	l.run(t, "docker", "save", "--output", archive, jobImage)
	nodes, err := cluster.NewProvider().ListInternalNodes(jobCluster)
	if err != nil || len(nodes) != 1 {
		t.Fatalf("%d nodes, %v", len(nodes), err)
	}
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := nodeutils.LoadImageArchive(nodes[0], file); err != nil {
		t.Fatal(err)
	}
}

// jobs are those of the documents, with our image. The node of a small machine has less than two processors to give.
func jobs(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile("../docs/examples/kubernetes-job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for old, replacement := range map[string]string{
		"ghcr.io/transplant-sim/transplant:v0.1.0": jobImage, `cpu: "2"`: "cpu: 600m",
		"--timeout-multiplier=3": "--timeout-multiplier=12", "-NIGHT": "-" + night, "/NIGHT": "/" + night,
	} {
		if !strings.Contains(text, old) {
			t.Fatalf("the example has no %s", old)
		}
		text = strings.ReplaceAll(text, old, replacement)
	}
	return []byte(text)
}

func (l *landscape) inNode(t *testing.T, command ...string) string {
	t.Helper()
	return l.run(t, "docker", append([]string{"exec", jobNode}, command...)...)
}

func (l *landscape) kubectlInNode(t *testing.T, input []byte, args ...string) string {
	t.Helper()
	said, err := l.try(t, input, "docker", append([]string{"exec", "-i", jobNode, "kubectl", "--kubeconfig", adminConfig},
		args...)...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, said)
	}
	return said
}

// ended waits for the end of a Job, and returns how it has ended.
func (l *landscape) ended(t *testing.T, job string) string {
	t.Helper()
	const conditions = `jsonpath={.status.conditions[?(@.status=="True")].type}`
	for deadline := time.Now().Add(20 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		said := l.kubectlInNode(t, nil, "-n", "transplant", "get", "job", job, "-o", conditions)
		for _, state := range strings.Fields(said) {
			if state == "Complete" || state == "Failed" {
				return state
			}
		}
	}
	t.Fatalf("%s has not ended:\n%s", job, l.kubectlInNode(t, nil, "-n", "transplant", "describe", "pods"))
	return ""
}

func (l *landscape) logs(t *testing.T, selector string) string {
	t.Helper()
	return l.kubectlInNode(t, nil, "-n", "transplant", "logs", "-l", selector, "--tail=-1", "--prefix")
}

// smoke are the names of the scenarios that all parts together run.
func (l *landscape) smoke(t *testing.T) []string {
	t.Helper()
	var scenarios []struct{ Name string }
	said := l.run(t, program, "scenarios", "list", "--scenarios", "../scenarios", "-l", "tier=smoke", "-o", "json")
	if err := json.Unmarshal([]byte(said), &scenarios); err != nil || len(scenarios) < 3 {
		t.Fatalf("%v in %s", err, said)
	}
	var names []string
	for _, s := range scenarios {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

// evidence are the verdicts of a part.
func (l *landscape) evidence(t *testing.T, part int) []verdict.Report {
	t.Helper()
	folder := t.TempDir()
	l.run(t, "docker", "cp", jobNode+":/evidence/"+night+"/"+strconv.Itoa(part), folder)
	reports, err := reportsIn(folder)
	if err != nil {
		t.Fatal(err)
	}
	return reports
}
