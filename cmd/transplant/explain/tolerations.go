package explain

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/toleration"
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
	AdmissionConfig     toleration.Restriction         `json:"admissionConfig"`
	Project             *gardencorev1beta1.Project     `json:"project"`
	ShootTolerations    []gardencorev1beta1.Toleration `json:"shootTolerations"`
	OldShootTolerations []gardencorev1beta1.Toleration `json:"oldShootTolerations"`
}

func (q *tolerationsQuestion) setDefaults() {
	if q.Project != nil {
		q.Project.SetDefaults()
	}
}

// tolerationsAnswer has Tolerated for the one kind of question, and the others for the other.
type tolerationsAnswer struct {
	Tolerated *bool                           `json:"tolerated,omitempty"`
	Allowed   *bool                           `json:"allowed,omitempty"`
	After     *[]gardencorev1beta1.Toleration `json:"shootTolerationsAfterAdmission,omitempty"`
	// Added are the defaults that a new shoot gets; they count when it is asked where it may be.
	Added []gardencorev1beta1.Toleration `json:"addedByDefault,omitempty"`
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
		Short: "Explain whether a shoot tolerates a seed's taints, and whether it may",
		Example: `  transplant explain tolerations --shoot shoot.yaml --seed seed.yaml --project project.yaml
  transplant explain tolerations --shoot shoot.yaml --project project.yaml --admission-config config.yaml
  transplant explain tolerations --shoot shoot.yaml --old-shoot before.yaml --project project.yaml`,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	command.Flags().StringVar(&flags.shoot, "shoot", "", "file of the Shoot")
	command.Flags().StringVar(&flags.seed, "seed", "", "file of the Seed, to compare its taints")
	command.Flags().StringVar(&flags.project, "project", "",
		"file of the Shoot's Project, for its defaults and whitelist")
	command.Flags().StringVar(&flags.config, "admission-config", "",
		"file of Gardener's AdmissionConfiguration, or only of its plugin "+toleration.Plugin+
			": defaults and whitelist for all projects")
	command.Flags().StringVar(&flags.oldShoot, "old-shoot", "",
		"file of the Shoot before the change, to ask about an update; without it you ask about a creation")
	flags.output.register(command)
	return withJSONL(command, lines{
		sample: `{"id":1,"kind":"seedTaints","seedTaints":[{"key":"gpu"}],"shootTolerations":[]}`,
		needs:  []string{"kind"}, lists: []string{"shootTolerations"},
	}, judgeTolerations)
}

func (f *tolerationsFlags) run(command *cobra.Command) error {
	if err := required([2]string{"shoot", f.shoot}); err != nil {
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
	return f.output.Print(command.OutOrStdout(), answer, func(out io.Writer) error {
		return printTolerations(out, question, answers)
	})
}

// read makes a question of the files.
func (f *tolerationsFlags) read(command *cobra.Command) (tolerationsQuestion, error) {
	var (
		shoot, old gardencorev1beta1.Shoot
		seed       gardencorev1beta1.Seed
		question   = tolerationsQuestion{Operation: operationCreate}
	)
	errs := []error{readObject(command, "shoot", f.shoot, "Shoot", &shoot, choice{})}
	if f.seed != "" {
		bound := named("spec.seedName of the Shoot", "", ptr.Deref(shoot.Spec.SeedName, ""))
		errs = append(errs, readObject(command, "seed", f.seed, "Seed", &seed, bound))
	}
	if f.project != "" {
		question.Project = &gardencorev1beta1.Project{}
		itsOwn := projectOf(shoot.Namespace)
		errs = append(errs, readObject(command, "project", f.project, "Project", question.Project, itsOwn))
	}
	if f.config != "" {
		errs = append(errs, f.readConfig(command, &question.AdmissionConfig))
	}
	if f.oldShoot != "" {
		question.Operation = operationUpdate
		same := named("--shoot", shoot.Namespace, shoot.Name)
		errs = append(errs, readObject(command, "old-shoot", f.oldShoot, "Shoot", &old, same))
	}
	question.ShootTolerations, question.OldShootTolerations, question.SeedTaints = shoot.Spec.Tolerations,
		old.Spec.Tolerations, seed.Spec.Taints
	return question, errors.Join(errs...)
}

// projectOf chooses the project of a namespace.
func projectOf(namespace string) choice {
	if namespace == "" {
		return choice{}
	}
	return choice{by: "the Shoot's namespace", fits: func(content []byte) bool {
		var project struct {
			Spec struct {
				Namespace string `json:"namespace"`
			} `json:"spec"`
		}
		return decode(content, &project) == nil && project.Spec.Namespace == namespace
	}}
}

// readConfig reads the configuration of all projects.
func (f *tolerationsFlags) readConfig(command *cobra.Command, into *toleration.Restriction) error {
	content, err := readFile(command, f.config)
	if err != nil {
		return fmt.Errorf("read the admission configuration (--admission-config): %w", err)
	}
	text, err := toleration.RestrictionIn(content, folderOf(f.config))
	if err != nil {
		return fmt.Errorf("read the admission configuration in %s: %w", f.config, err)
	}
	document, err := yaml.YAMLToJSON(text)
	if err == nil {
		err = decode(document, into)
	}
	if err != nil {
		return fmt.Errorf("read the admission configuration in %s: %w", f.config, err)
	}
	newWarnings(command.ErrOrStderr()).print(unknowns(document, into), func(unknown) string { return f.config })
	if errs := into.Validate(); len(errs) > 0 {
		return fmt.Errorf("read the admission configuration in %s: %w", f.config, errs.ToAggregate())
	}
	return nil
}

func judgeTolerations(question tolerationsQuestion) (tolerationsAnswer, error) {
	switch question.Kind {
	case kindSeedTaints:
		return judgeSeed(question), nil
	case kindAdmission:
		return judgeAdmission(question)
	}
	return tolerationsAnswer{}, fmt.Errorf("field kind is %q: give %s or %s", question.Kind, kindSeedTaints, kindAdmission)
}

// lists are the defaults and the whitelist that hold for the shoot.
func (q tolerationsQuestion) lists() toleration.Lists {
	return q.AdmissionConfig.Lists().With(q.Project)
}

// added are the tolerations that the shoot gets by default, when it is created.
func (q tolerationsQuestion) added() []gardencorev1beta1.Toleration {
	if strings.EqualFold(q.Operation, operationUpdate) {
		return nil
	}
	return q.lists().Missing(q.ShootTolerations)
}

// judgeSeed asks of the shoot as it is once it is created.
func judgeSeed(question tolerationsQuestion) tolerationsAnswer {
	answer := tolerationsAnswer{Added: question.added()}
	tolerations := slices.Concat(question.ShootTolerations, answer.Added)
	tolerated := placement.Tolerated(question.SeedTaints, tolerations)
	if answer.Tolerated = &tolerated; !tolerated {
		answer.Why = untolerated(question.SeedTaints, tolerations)
	}
	return answer
}

// untolerated are the taints that are not tolerated by themselves; none if it is only that they are more than the
// tolerations.
func untolerated(taints []gardencorev1beta1.SeedTaint, tolerations []gardencorev1beta1.Toleration) []string {
	var why []string
	for _, taint := range taints {
		if !placement.Tolerated([]gardencorev1beta1.SeedTaint{taint}, tolerations) {
			why = append(why, fmt.Sprintf("no toleration for taint %s", keyAndValue(taint.Key, taint.Value)))
		}
	}
	if len(why) == 0 {
		why = append(why, fmt.Sprintf("the seed has %d taints, more than the shoot's %d tolerations",
			len(taints), len(tolerations)))
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
	switch strings.ToUpper(question.Operation) {
	case operationCreate, operationUpdate:
	default:
		return tolerationsAnswer{}, fmt.Errorf("field operation is %q: give %s or %s", question.Operation, operationCreate,
			operationUpdate)
	}
	lists, added := question.lists(), question.added()
	// Not nil: none is an empty list.
	after := append([]gardencorev1beta1.Toleration{}, slices.Concat(question.ShootTolerations, added)...)
	refusals := lists.Judge(field.NewPath("spec", "tolerations"), after, question.OldShootTolerations)
	allowed := len(refusals) == 0
	answer := tolerationsAnswer{Allowed: &allowed, After: &after, Added: added}
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
		merged.Added = a.Added
		merged.Why = append(merged.Why, a.Why...)
	}
	return merged
}

// printTolerations are the answers for people.
func printTolerations(out io.Writer, question tolerationsQuestion, answers []tolerationsAnswer) error {
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
		for _, toleration := range a.Added {
			p.line("  added by default: %s", keyAndValue(toleration.Key, toleration.Value))
		}
	}
	return p.err
}
