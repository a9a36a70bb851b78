package explain

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission"
	"github.com/transplant-sim/transplant/controllers/placement"
)

// Kinds of questions about tolerations, and operations of admission.
const (
	kindSeedTaints, kindAdmission    = "seedTaints", "admission"
	operationCreate, operationUpdate = "CREATE", "UPDATE"
)

// tolerationsQuestion asks whether tolerations let a shoot onto a seed, or whether the shoot may have them.
type tolerationsQuestion struct {
	Kind                string                         `json:"kind"`
	SeedTaints          []gardencorev1beta1.SeedTaint  `json:"seedTaints"`
	Operation           string                         `json:"operation"`
	AdmissionConfig     tolerationsConfig              `json:"admissionConfig"`
	Project             *gardencorev1beta1.Project     `json:"project"`
	ShootTolerations    []gardencorev1beta1.Toleration `json:"shootTolerations"`
	OldShootTolerations []gardencorev1beta1.Toleration `json:"oldShootTolerations"`
}

// tolerationsConfig is the admission's configuration as it is written.
type tolerationsConfig struct {
	metav1.TypeMeta `json:",inline"`
	Defaults        []gardencorev1beta1.Toleration `json:"defaults"`
	Whitelist       []gardencorev1beta1.Toleration `json:"whitelist"`
}

// tolerationsAnswer has Tolerated for the one kind of question, and the others for the other.
type tolerationsAnswer struct {
	Tolerated *bool                           `json:"tolerated,omitempty"`
	Allowed   *bool                           `json:"allowed,omitempty"`
	After     *[]gardencorev1beta1.Toleration `json:"shootTolerationsAfterAdmission,omitempty"`
	// Why are the reasons against.
	Why []string `json:"why,omitempty"`
}

// tolerationsFlags are what people ask with.
type tolerationsFlags struct {
	shoot, oldShoot, seed, project, config string
	output                                 outputFlag
}

// newTolerations is the topic `tolerations`.
func newTolerations() *cobra.Command {
	flags := &tolerationsFlags{}
	command := &cobra.Command{
		Use:   "tolerations",
		Short: "Say whether a shoot tolerates a seed's taints, and whether it may",
		Example: `  transplant explain tolerations --shoot shoot.yaml --seed seed.yaml
  transplant explain tolerations --shoot shoot.yaml --project project.yaml --admission-config config.yaml
  transplant explain tolerations --shoot shoot.yaml --old-shoot before.yaml --project project.yaml`,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	command.Flags().StringVar(&flags.shoot, "shoot", "", "file of the Shoot")
	command.Flags().StringVar(&flags.seed, "seed", "", "file of the Seed, whose taints are asked about")
	command.Flags().StringVar(&flags.project, "project", "", "file of the Shoot's Project, whose defaults and whitelist are asked about")
	command.Flags().StringVar(&flags.config, "admission-config", "", "file of the admission's configuration, with defaults and whitelist for all projects")
	command.Flags().StringVar(&flags.oldShoot, "old-shoot", "", "file of the Shoot as it was: the question is about an update, else about a creation")
	flags.output.register(command)
	return withJSONL(command, lines{
		sample: `{"id":1,"kind":"seedTaints","seedTaints":[{"key":"gpu"}],"shootTolerations":[]}`,
		needs:  []string{"kind"}, lists: []string{"shootTolerations"},
	}, judgeTolerations)
}

func (f *tolerationsFlags) run(command *cobra.Command) error {
	if err := errors.Join(f.output.check(), required([2]string{"shoot", f.shoot})); err != nil {
		return err
	}
	if f.seed == "" && f.project == "" && f.config == "" {
		return required([2]string{"seed, --project or --admission-config", ""})
	}
	question, err := f.read(command)
	if err != nil {
		return err
	}
	var answers []tolerationsAnswer
	if f.seed != "" {
		question.Kind = kindSeedTaints
		answer, err := judgeTolerations(question)
		if err != nil {
			return err
		}
		answers = append(answers, answer)
	}
	if f.project != "" || f.config != "" {
		question.Kind = kindAdmission
		answer, err := judgeTolerations(question)
		if err != nil {
			return err
		}
		answers = append(answers, answer)
	}
	answer := mergeTolerations(answers)
	return f.output.print(command.OutOrStdout(), answer, func(out io.Writer) error { return tellTolerations(out, question, answers) })
}

// read makes a question of the files.
func (f *tolerationsFlags) read(command *cobra.Command) (tolerationsQuestion, error) {
	var (
		shoot, old gardencorev1beta1.Shoot
		seed       gardencorev1beta1.Seed
		question   = tolerationsQuestion{Operation: operationCreate}
	)
	errs := []error{readObject(command, "shoot", f.shoot, "Shoot", &shoot)}
	if f.seed != "" {
		errs = append(errs, readObject(command, "seed", f.seed, "Seed", &seed))
	}
	if f.project != "" {
		question.Project = &gardencorev1beta1.Project{}
		errs = append(errs, readObject(command, "project", f.project, "Project", question.Project))
	}
	if f.config != "" {
		errs = append(errs, readObject(command, "admission-config", f.config, "Configuration", &question.AdmissionConfig))
	}
	if f.oldShoot != "" {
		question.Operation = operationUpdate
		errs = append(errs, readObject(command, "old-shoot", f.oldShoot, "Shoot", &old))
	}
	question.ShootTolerations, question.OldShootTolerations, question.SeedTaints = shoot.Spec.Tolerations, old.Spec.Tolerations, seed.Spec.Taints
	return question, errors.Join(errs...)
}

func judgeTolerations(question tolerationsQuestion) (tolerationsAnswer, error) {
	switch question.Kind {
	case kindSeedTaints:
		tolerated := placement.Tolerated(question.SeedTaints, question.ShootTolerations)
		answer := tolerationsAnswer{Tolerated: &tolerated}
		if !tolerated {
			answer.Why = untolerated(question)
		}
		return answer, nil
	case kindAdmission:
		return judgeAdmission(question)
	}
	return tolerationsAnswer{}, fmt.Errorf("field kind is %q: give %s or %s", question.Kind, kindSeedTaints, kindAdmission)
}

// untolerated are the taints that are not tolerated by themselves; none if it is only that they are more than the
// tolerations.
func untolerated(question tolerationsQuestion) []string {
	var why []string
	for _, taint := range question.SeedTaints {
		if !placement.Tolerated([]gardencorev1beta1.SeedTaint{taint}, question.ShootTolerations) {
			why = append(why, fmt.Sprintf("no toleration for taint %s", keyAndValue(taint.Key, taint.Value)))
		}
	}
	if taints, tolerations := len(question.SeedTaints), len(question.ShootTolerations); len(why) == 0 {
		why = append(why, fmt.Sprintf("the seed has %d taints, more than the shoot's %d tolerations", taints, tolerations))
	}
	return why
}

func keyAndValue(key string, value *string) string {
	if value == nil {
		return key
	}
	return key + "=" + *value
}

func judgeAdmission(question tolerationsQuestion) (tolerationsAnswer, error) {
	lists := admission.Tolerations{Defaults: question.AdmissionConfig.Defaults, Whitelist: question.AdmissionConfig.Whitelist}.With(question.Project)
	after := append([]gardencorev1beta1.Toleration{}, question.ShootTolerations...)
	switch strings.ToUpper(question.Operation) {
	case operationCreate:
		after = append(after, lists.Missing(after)...)
	case operationUpdate:
	default:
		return tolerationsAnswer{}, fmt.Errorf("field operation is %q: give %s or %s", question.Operation, operationCreate, operationUpdate)
	}
	refusals := lists.Judge(field.NewPath("spec", "tolerations"), after, question.OldShootTolerations)
	allowed := len(refusals) == 0
	answer := tolerationsAnswer{Allowed: &allowed, After: &after}
	for _, refusal := range refusals {
		answer.Why = append(answer.Why, refusal.Error())
	}
	return answer, nil
}

func mergeTolerations(answers []tolerationsAnswer) tolerationsAnswer {
	var merged tolerationsAnswer
	for _, a := range answers {
		if a.Tolerated != nil {
			merged.Tolerated = a.Tolerated
		} else {
			merged.Allowed, merged.After = a.Allowed, a.After
		}
		merged.Why = append(merged.Why, a.Why...)
	}
	return merged
}

// tellTolerations are the answers for people.
func tellTolerations(out io.Writer, question tolerationsQuestion, answers []tolerationsAnswer) error {
	p := printer{out: out}
	for _, a := range answers {
		switch {
		case a.Tolerated != nil && *a.Tolerated:
			p.line("The shoot may be on the seed: it tolerates all of the seed's taints.")
		case a.Tolerated != nil:
			p.line("The shoot may not be on the seed.")
		case *a.Allowed:
			p.line("%s is allowed with these tolerations.", question.Operation)
		default:
			p.line("%s is refused.", question.Operation)
		}
		for _, why := range a.Why {
			p.line("  %s", why)
		}
		if a.After == nil {
			continue
		}
		for _, toleration := range (*a.After)[len(question.ShootTolerations):] {
			p.line("  added by default: %s", keyAndValue(toleration.Key, toleration.Value))
		}
	}
	return p.err
}
