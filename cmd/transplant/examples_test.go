package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// Jobs in the examples have fields of Kubernetes, and their containers run commands of this program: each part of the
// scenarios once, and then a summary of all of them.
func TestExamples_JobsOfKubernetes_RunEachPartAndMergeThem(t *testing.T) {
	content, err := os.ReadFile("../../docs/examples/kubernetes-job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var parts int32
	var folders, merged []string
	for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
		var job batchv1.Job
		if !bytes.Contains(document, []byte("\nkind: Job\n")) {
			continue
		}
		if err := yaml.UnmarshalStrict(document, &job); err != nil {
			t.Fatal(err)
		}
		if refused := validation.IsDNS1123Subdomain(job.Name); len(refused) == 0 {
			t.Errorf("Kubernetes takes the Job %s, whose folder may have evidence of an earlier night", job.Name)
		}
		args := job.Spec.Template.Spec.Containers[0].Args
		root := newCommand()
		command, rest, err := root.Find(args)
		if err != nil {
			t.Fatal(err)
		}
		if command.Name() == "merge" {
			if err := command.ParseFlags(rest); err != nil {
				t.Error(err)
			}
			merged = command.Flags().Args()
			continue
		}
		parts = *job.Spec.Completions
		for index := range parts {
			t.Setenv("JOB_COMPLETION_INDEX", fmt.Sprint(index))
			if err := command.ParseFlags(rest); err != nil {
				t.Error(err)
			}
			if err := command.ValidateArgs(command.Flags().Args()); err != nil {
				t.Error(err)
			}
			if got, want := command.Flag("shard").Value.String(), fmt.Sprintf("%d/%d", index+1, parts); got != want {
				t.Errorf("pod %d runs part %s, want %s", index, got, want)
			}
			out := command.Flag("out").Value.String()
			if _, night, _ := strings.Cut(job.Name, "disaster-recovery-"); !slices.Contains(strings.Split(out, "/"), night) {
				t.Errorf("the Job %s has no folder of its own, but %s", job.Name, out)
			}
			folders = append(folders, strings.ReplaceAll(out, "$(JOB_COMPLETION_INDEX)", fmt.Sprint(index)))
		}
	}
	if parts == 0 {
		t.Error("no Job runs scenarios")
	}
	if diff := cmp.Diff(folders, merged); diff != "" {
		t.Errorf("folders of the parts, and those of the summary (-want +got):\n%s", diff)
	}
}
