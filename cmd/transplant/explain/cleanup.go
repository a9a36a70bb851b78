package explain

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/cleanup"
)

// cleanupAnswer says what is done now with each object of a shoot in deletion.
type cleanupAnswer struct {
	// Step is the step at work, "" if nothing holds the deletion up.
	Step    string                    `json:"step"`
	Periods map[string]cleanupPeriods `json:"periods"`
	Objects []cleanupObject           `json:"objects"`
	Error   string                    `json:"error,omitempty"`
	Codes   []string                  `json:"codes,omitempty"`
}

type cleanupPeriods struct {
	Grace    string `json:"grace"`
	Finalize string `json:"finalizeAfter"`
}

type cleanupObject struct {
	Step            string         `json:"step,omitempty"`
	Object          string         `json:"object"`
	Action          cleanup.Action `json:"action"`
	Grace           string         `json:"grace,omitempty"`
	Until           *time.Time     `json:"until,omitempty"`
	ReleaseSnapshot bool           `json:"releaseSnapshot,omitempty"`
	Holds           bool           `json:"holds"`
	Why             string         `json:"why"`
}

// cleanupFlags are what people ask with.
type cleanupFlags struct {
	shoot, start string
	objects      []string
	now          nowFlag
	output       outputFlag
}

// newCleanup is the topic `cleanup`.
func newCleanup() *cobra.Command {
	flags := &cleanupFlags{}
	command := &cobra.Command{
		Use:   "cleanup",
		Short: "Explain what the clean-up does with the objects of a shoot in deletion",
		Example: `  transplant explain cleanup --shoot shoot.yaml --objects objects.yaml
  kubectl get pods,services,pvc,namespaces -A -o yaml | transplant explain cleanup --shoot shoot.yaml --objects -`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	command.Flags().StringVar(&flags.shoot, "shoot", "", "file of the Shoot; its annotations set the grace periods")
	command.Flags().StringArrayVar(&flags.objects, "objects", nil,
		"file with objects of the shoot, - for standard input; may be repeated; if it has Namespaces, all other namespaces "+
			"count as gone")
	command.Flags().StringVar(&flags.start, "start", "",
		"time when the clean-up began, for example 2026-11-21T12:00:00Z (default: now)")
	flags.now.register(command)
	flags.output.register(command)
	return command
}

func (f *cleanupFlags) run(command *cobra.Command) error {
	err := errors.Join(requiredAlways("shoot", f.shoot), requiredAlways("objects", strings.Join(f.objects, "")))
	if err != nil {
		return err
	}
	now, err := f.now.time(clock.RealClock{})
	if err != nil {
		return err
	}
	cluster, err := f.read(command, now)
	if err != nil {
		return err
	}
	answer, err := judgeCleanup(cluster, now)
	if err != nil {
		return fmt.Errorf("read the Shoot in %s: %w", f.shoot, err)
	}
	return f.output.Print(command.OutOrStdout(), answer, func(out io.Writer) error { return printCleanup(out, answer) })
}

// requiredAlways is for topics without a form for machines.
func requiredAlways(flag, value string) error {
	if value == "" {
		return fmt.Errorf("set --%s", flag)
	}
	return nil
}

func (f *cleanupFlags) read(command *cobra.Command, now time.Time) (cleanup.Cluster, error) {
	var shoot gardencorev1beta1.Shoot
	if err := readObject(command, "shoot", f.shoot, "Shoot", &shoot, choice{}); err != nil {
		return cleanup.Cluster{}, err
	}
	cluster := cleanup.Cluster{Annotations: shoot.Annotations, Start: now}
	if f.start != "" {
		start, err := time.Parse(time.RFC3339, f.start)
		if err != nil {
			return cleanup.Cluster{}, fmt.Errorf("read --start: %q is no time of the form 2026-11-21T12:00:00Z", f.start)
		}
		cluster.Start = start
	}
	err := readObjects(command, "objects", f.objects, func(kind string, document []byte) ([]unknown, error) {
		var object metav1.PartialObjectMetadata
		if err := decode(document, &object); err != nil {
			return nil, err
		}
		if object.Name == "" {
			return nil, fmt.Errorf("field metadata.name of a %s is not set: give objects as the API server has them", kind)
		}
		if kind == "Namespace" {
			cluster.Namespaces = append(cluster.Namespaces, object.Name)
		}
		cluster.Objects = append(cluster.Objects, object)
		// All fields beside metadata are unknown, and none of them matters.
		return slices.DeleteFunc(unknowns(document, object), func(u unknown) bool { return len(u.path) == 1 }), nil
	})
	return cluster, err
}

func judgeCleanup(cluster cleanup.Cluster, now time.Time) (cleanupAnswer, error) {
	answer := cleanupAnswer{Periods: map[string]cleanupPeriods{}, Objects: []cleanupObject{}}
	for _, step := range cleanup.Steps() {
		periods, err := cleanup.PeriodsOf(step, cluster.Annotations)
		if err != nil {
			return answer, err
		}
		answer.Periods[step.String()] = cleanupPeriods{Grace: periods.Grace.String(), Finalize: periods.Finalize.String()}
	}
	plan, err := cleanup.Decide(cluster, now)
	if err != nil {
		return answer, err
	}
	for _, d := range plan.Decisions {
		answer.Objects = append(answer.Objects, cleanupObjectOf(d))
	}
	if remaining, is := errors.AsType[*cleanup.Remaining](plan.Err()); is {
		answer.Step, answer.Error = plan.Step.String(), remaining.Error()
		for _, code := range remaining.Codes() {
			answer.Codes = append(answer.Codes, string(code))
		}
	}
	return answer, nil
}

func cleanupObjectOf(d cleanup.Decision) cleanupObject {
	object := d.Object
	object.Finalizers = nil // Why has them
	shown := cleanupObject{Object: cleanup.Describe(object), Action: d.Action, ReleaseSnapshot: d.ReleaseSnapshot,
		Holds: d.Holds(), Why: d.Why}
	if d.Step != 0 {
		shown.Step = d.Step.String()
	}
	if d.Action == cleanup.Delete {
		shown.Grace = d.Grace.String()
	}
	if !d.Until.IsZero() {
		shown.Until = &d.Until
	}
	return shown
}

// printCleanup is the answer for people: step by step, then what is left alone.
func printCleanup(out io.Writer, answer cleanupAnswer) error {
	p := printer{out: out}
	for i, step := range cleanup.Steps() {
		state := "done"
		if answer.Step == step.String() {
			state = "at work"
		} else if answer.Step != "" && laterThan(answer.Step, step) {
			state = "not begun"
		}
		periods := answer.Periods[step.String()]
		p.line("Step %d, %s: %s (grace %s, finalizers are removed after %s)", i+1, step, state, periods.Grace,
			periods.Finalize)
		for _, o := range answer.Objects {
			if o.Step == step.String() {
				p.line("  %-8s %s: %s", o.Action, o.Object, o.Why)
				if o.ReleaseSnapshot {
					p.line("           the snapshot controller is asked to delete the snapshot at the cloud")
				}
			}
		}
	}
	for _, o := range answer.Objects {
		if o.Step == "" {
			p.line("%s %s: %s", o.Action, o.Object, o.Why)
		}
	}
	if answer.Error == "" {
		p.line("Nothing holds the deletion up.")
	} else {
		p.line("%s (%s)", sentence(answer.Error), strings.Join(answer.Codes, ", "))
	}
	return p.err
}

// laterThan is whether a step comes after the one with this name.
func laterThan(name string, step cleanup.Step) bool {
	for _, s := range cleanup.Steps() {
		if s.String() == name {
			return step > s
		}
	}
	return false
}
