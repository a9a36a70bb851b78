package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/care/webhooks"
)

// webhooksQuestion asks about webhook configurations of a shoot.
type webhooksQuestion struct {
	Validating []admissionregistrationv1.ValidatingWebhookConfiguration `json:"validating"`
	Mutating   []admissionregistrationv1.MutatingWebhookConfiguration   `json:"mutating"`
}

// webhooksAnswer says which webhooks are problematic, what the constraints say of them, and what one pass of
// remediation makes of the configurations.
type webhooksAnswer struct {
	// Problematic is by Kind/configuration/webhook. In answers to questions, labels that exempt a configuration do not
	// count, as in the known answers; in answers from files they do.
	Problematic map[string]bool    `json:"problematic"`
	Constraint  webhooksConstraint `json:"constraint"`
	Remediated  bool               `json:"remediated"`
	webhooksQuestion

	// Exempt are the labels by which configurations do not count for the constraints, Excluded those by which they are not
	// remediated.
	Exempt   map[string]string `json:"exempt,omitempty"`
	Excluded map[string]string `json:"excludedFromRemediation,omitempty"`
	// Problems say why, Message is the constraint's, Changes are what remediation changes.
	Problems map[string]string   `json:"problems,omitempty"`
	Message  string              `json:"message"`
	Changes  map[string][]string `json:"changes,omitempty"`
}

func (q *webhooksQuestion) setDefaults() {
	for i := range q.Validating {
		webhooks.SetValidatingDefaults(&q.Validating[i])
	}
	for i := range q.Mutating {
		webhooks.SetMutatingDefaults(&q.Mutating[i])
	}
}

// check refuses configurations without a name, and of a version that means something else.
func (q *webhooksQuestion) check() error {
	for i, c := range q.views() {
		if c.Name() == "" {
			return fmt.Errorf("field metadata.name of configuration %d is not set: give each a name", i+1)
		}
	}
	for i, c := range q.Validating {
		field := fmt.Sprintf("validating[%d].apiVersion", i)
		if err := checkVersion(webhooks.KindValidating, c.APIVersion, field); err != nil {
			return err
		}
	}
	for i, c := range q.Mutating {
		field := fmt.Sprintf("mutating[%d].apiVersion", i)
		if err := checkVersion(webhooks.KindMutating, c.APIVersion, field); err != nil {
			return err
		}
	}
	return nil
}

// webhooksConstraint is the same for HibernationPossible and MaintenancePreconditionsSatisfied.
type webhooksConstraint struct {
	Status gardencorev1beta1.ConditionStatus `json:"status"`
	Reason string                            `json:"reason"`
	Codes  []gardencorev1beta1.ErrorCode     `json:"codes,omitempty"`
}

// newWebhooks is the topic `webhooks`.
func newWebhooks() *cobra.Command {
	var (
		files  []string
		output outputFlag
	)
	command := &cobra.Command{
		Use:   "webhooks",
		Short: "Explain which webhooks keep a shoot from hibernation, and how they would be remediated",
		Example: `  transplant explain webhooks --file webhooks.yaml
  kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml | ` +
			`transplant explain webhooks --file -`,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := required([2]string{"file", strings.Join(files, "")}); err != nil {
				return err
			}
			question, err := readWebhooks(command, files)
			if err != nil {
				return err
			}
			answer, err := judgeWebhooks(question)
			if err != nil {
				return err
			}
			answer.spareExempt()
			return output.Print(command.OutOrStdout(), answer, func(out io.Writer) error {
				return printWebhooks(out, question, answer)
			})
		},
	}
	command.Flags().StringArrayVar(&files, "file", nil,
		"file with ValidatingWebhookConfigurations and MutatingWebhookConfigurations, - for standard input; may be repeated")
	output.register(command)
	return withJSONL(command, lines{
		sample: `{"id":1,"validating":[{"metadata":{"name":"policy"},"webhooks":[{"name":"pods.example.com",` +
			`"failurePolicy":"Fail"}]}]}`,
		lists: []string{"validating", "mutating"},
	}, judgeWebhooks)
}

func readWebhooks(command *cobra.Command, files []string) (webhooksQuestion, error) {
	var question webhooksQuestion
	err := readObjects(command, "file", files, func(kind string, document []byte) ([]unknown, error) {
		switch kind {
		case webhooks.KindValidating:
			question.Validating = append(question.Validating, admissionregistrationv1.ValidatingWebhookConfiguration{})
			into := &question.Validating[len(question.Validating)-1]
			return unknowns(document, into), decode(document, into)
		case webhooks.KindMutating:
			question.Mutating = append(question.Mutating, admissionregistrationv1.MutatingWebhookConfiguration{})
			into := &question.Mutating[len(question.Mutating)-1]
			return unknowns(document, into), decode(document, into)
		}
		return nil, fmt.Errorf("field kind is %q: give %ss and %ss only", kind, webhooks.KindValidating,
			webhooks.KindMutating)
	})
	question.setDefaults()
	return question, err
}

// views are the configurations in the order in which they are judged.
func (q webhooksQuestion) views() []webhooks.Configuration {
	var views []webhooks.Configuration
	for i := range q.Validating {
		views = append(views, webhooks.Validating(&q.Validating[i]))
	}
	for i := range q.Mutating {
		views = append(views, webhooks.Mutating(&q.Mutating[i]))
	}
	webhooks.Sort(views)
	return views
}

// sorted is a copy in the order of names, as an API server lists configurations.
func (q webhooksQuestion) sorted() webhooksQuestion {
	var sorted webhooksQuestion
	for i := range q.Validating {
		sorted.Validating = append(sorted.Validating, *q.Validating[i].DeepCopy())
	}
	for i := range q.Mutating {
		sorted.Mutating = append(sorted.Mutating, *q.Mutating[i].DeepCopy())
	}
	slices.SortStableFunc(sorted.Validating, func(a, b admissionregistrationv1.ValidatingWebhookConfiguration) int {
		return strings.Compare(a.Name, b.Name)
	})
	slices.SortStableFunc(sorted.Mutating, func(a, b admissionregistrationv1.MutatingWebhookConfiguration) int {
		return strings.Compare(a.Name, b.Name)
	})
	return sorted
}

func judgeWebhooks(question webhooksQuestion) (webhooksAnswer, error) {
	if err := question.check(); err != nil {
		return webhooksAnswer{}, err
	}
	answer := webhooksAnswer{
		Problematic: map[string]bool{}, Problems: map[string]string{}, Changes: map[string][]string{},
		Exempt: map[string]string{}, Excluded: map[string]string{}, webhooksQuestion: question.sorted(),
	}
	for _, c := range question.views() {
		if label := c.Exempt(); label != "" {
			answer.Exempt[c.Kind+"/"+c.Name()] = label
		}
		if label := c.Excluded(); label != "" {
			answer.Excluded[c.Kind+"/"+c.Name()] = label
		}
		for _, w := range c.Webhooks {
			name, problem := strings.Join([]string{c.Kind, c.Name(), w.Name}, "/"), w.Problem()
			answer.Problematic[name] = problem != ""
			if problem != "" {
				answer.Problems[name] = problem
			}
		}
	}
	verdict := webhooks.Judge(question.views())
	answer.Constraint, answer.Message = webhooksConstraint{Status: verdict.Status, Reason: verdict.Reason,
		Codes: verdict.Codes}, verdict.Message
	for _, c := range answer.views() {
		if changes := webhooks.Remediate(c); len(changes) > 0 {
			answer.Remediated = true
			answer.Changes[c.Kind+"/"+c.Name()] = changes
		}
	}
	return answer, nil
}

// spareExempt takes back what was found about configurations that do not count.
func (a *webhooksAnswer) spareExempt() {
	for name := range a.Problematic {
		if a.Exempt[name[:strings.LastIndex(name, "/")]] != "" {
			a.Problematic[name] = false
			delete(a.Problems, name)
		}
	}
}

// printWebhooks is the answer for people.
func printWebhooks(out io.Writer, question webhooksQuestion, answer webhooksAnswer) error {
	p := printer{out: out}
	for _, c := range question.views() {
		name := c.Kind + "/" + c.Name()
		p.line("%s %s", c.Kind, c.Name())
		for _, w := range c.Webhooks {
			problem := answer.Problems[name+"/"+w.Name]
			switch exempt := answer.Exempt[name]; {
			case exempt != "":
				p.line("  webhook %s is exempt: its configuration has the label %s", w.Name, exempt)
			case problem == "":
				p.line("  webhook %s is fine", w.Name)
			default:
				p.line("  webhook %s is problematic: %s", w.Name, problem)
			}
		}
		for _, change := range answer.Changes[name] {
			p.line("  remediation: %s", strings.Replace(change, " was ", " would be ", 1))
		}
		if label := answer.Excluded[name]; label != "" {
			p.line("  remediation: none: the configuration has the label %s", label)
		}
	}
	p.line("Constraints HibernationPossible and MaintenancePreconditionsSatisfied: %s (%s)", answer.Constraint.Status,
		answer.Constraint.Reason)
	p.line("  %s", answer.Message)
	return p.err
}
