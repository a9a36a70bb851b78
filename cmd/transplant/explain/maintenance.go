package explain

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
	"github.com/transplant-sim/transplant/controllers/maintenance/window"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

// maintenanceQuestion asks what the maintenance of a shoot does.
type maintenanceQuestion struct {
	Now          *time.Time                      `json:"now"` // nil is the present
	CloudProfile *gardencorev1beta1.CloudProfile `json:"cloudProfile"`
	Shoot        *gardencorev1beta1.Shoot        `json:"shoot"`
}

func (q *maintenanceQuestion) setDefaults() {
	if q.CloudProfile != nil {
		q.CloudProfile.SetDefaults()
	}
	if q.Shoot != nil {
		q.Shoot.SetDefaults()
	}
}

// maintenanceAnswer says it by component.
type maintenanceAnswer struct {
	// Maintained is whether the shoot is maintained now.
	Maintained bool `json:"maintained"`
	// When is the moment that the rest is about: now, or the begin of the next window.
	When time.Time `json:"when"`

	ControlPlane    version.Update               `json:"controlPlane"`
	Workers         map[string]poolAnswer        `json:"workers"`
	SideChanges     []string                     `json:"sideChanges,omitempty"`
	Operation       string                       `json:"operation,omitempty"`
	LastMaintenance lastMaintenance              `json:"lastMaintenance"`
	Rollout         []rollout.Verdict            `json:"rollout,omitempty"`
	Spec            *gardencorev1beta1.ShootSpec `json:"spec"`

	plan maintenance.Plan
}

// poolAnswer is what happens to a worker pool.
type poolAnswer struct {
	Kubernetes   *version.Update `json:"kubernetes,omitempty"`
	MachineImage *version.Update `json:"machineImage,omitempty"`
}

// lastMaintenance is status.lastMaintenance afterwards.
type lastMaintenance struct {
	State         gardencorev1beta1.LastOperationState `json:"state,omitempty"`
	Description   string                               `json:"description,omitempty"`
	FailureReason string                               `json:"failureReason,omitempty"`
}

// newMaintenance is the topic `maintenance`.
func newMaintenance() *cobra.Command {
	var (
		shoot, profile string
		now            nowFlag
		output         outputFlag
	)
	command := &cobra.Command{
		Use:     "maintenance",
		Short:   "Explain what the next maintenance of a shoot changes, when, and why not more",
		Example: "  transplant explain maintenance --shoot shoot.yaml --cloudprofile cloudprofile.yaml",
		RunE: func(command *cobra.Command, _ []string) error {
			if err := required([2]string{"shoot", shoot}, [2]string{"cloudprofile", profile}); err != nil {
				return err
			}
			at, err := now.time(clock.RealClock{})
			if err != nil {
				return err
			}
			question, err := readMaintenance(command, shoot, profile, at)
			if err != nil {
				return err
			}
			answer := judgeNext(question)
			return output.Print(command.OutOrStdout(), answer, func(out io.Writer) error {
				return printMaintenance(out, question, answer)
			})
		},
	}
	command.Flags().StringVar(&shoot, "shoot", "", "file of the Shoot")
	command.Flags().StringVar(&profile, "cloudprofile", "", "file of its CloudProfile")
	now.register(command)
	output.register(command)
	return withJSONL(command, lines{
		sample: `{"id":1,"shoot":{"spec":{"kubernetes":{"version":"1.34.3"}}},` +
			`"cloudProfile":{"spec":{"kubernetes":{"versions":[{"version":"1.34.3"}]}}}}`,
		needs: []string{"shoot", "cloudProfile"},
	}, judgeMaintenance)
}

func readMaintenance(command *cobra.Command, shoot, profile string, now time.Time) (maintenanceQuestion, error) {
	question := maintenanceQuestion{Now: &now, Shoot: &gardencorev1beta1.Shoot{},
		CloudProfile: &gardencorev1beta1.CloudProfile{}}
	err := readObject(command, "shoot", shoot, "Shoot", question.Shoot, choice{})
	wanted := profileName(question.Shoot)
	itsOwn := named("the Shoot", "", wanted)
	err = errors.Join(err, readObject(command, "cloudprofile", profile, "CloudProfile", question.CloudProfile, itsOwn))
	if err != nil {
		return question, err
	}
	if wanted != "" && wanted != question.CloudProfile.Name {
		return question, fmt.Errorf(
			"the Shoot in %s uses the CloudProfile %q (field spec.cloudProfile.name), %s has %q: give the file of the one "+
				"that it uses",
			shoot, wanted, profile, question.CloudProfile.Name)
	}
	if question.Shoot.Spec.Kubernetes.Version == "" {
		return question, fmt.Errorf(
			"read the Shoot in %s: field spec.kubernetes.version is not set: give the Shoot as the API server has it", shoot)
	}
	return question, nil
}

func profileName(shoot *gardencorev1beta1.Shoot) string {
	switch {
	case shoot.Spec.CloudProfile != nil && shoot.Spec.CloudProfile.Kind != "NamespacedCloudProfile":
		return shoot.Spec.CloudProfile.Name
	case shoot.Spec.CloudProfile == nil && shoot.Spec.CloudProfileName != nil:
		return *shoot.Spec.CloudProfileName
	default:
		return ""
	}
}

// judgeMaintenance is about now: a shoot that is not maintained now stays as it is.
func judgeMaintenance(question maintenanceQuestion) (maintenanceAnswer, error) {
	switch {
	case question.Shoot == nil:
		return maintenanceAnswer{}, errors.New("field shoot is not set: give the Shoot")
	case question.CloudProfile == nil:
		return maintenanceAnswer{}, errors.New("field cloudProfile is not set: give the CloudProfile of the Shoot")
	}
	if err := errors.Join(
		checkVersion("Shoot", question.Shoot.APIVersion, "shoot.apiVersion"),
		checkVersion("CloudProfile", question.CloudProfile.APIVersion, "cloudProfile.apiVersion"),
	); err != nil {
		return maintenanceAnswer{}, err
	}
	now := *orPresent(question.Now)
	plan := maintenance.Decide(question.Shoot, question.CloudProfile, now, maintenance.Config{})
	due := maintenance.Due(question.Shoot, now)
	if !due {
		plan = idle(plan, question.Shoot)
	}
	return answerOf(plan, due, now), nil
}

// judgeNext is about the next maintenance, whenever it is.
func judgeNext(question maintenanceQuestion) maintenanceAnswer {
	when := *question.Now
	due := maintenance.Due(question.Shoot, when)
	if !due {
		when = window.EffectiveOf(question.Shoot).Next(when)
	}
	answer := answerOf(maintenance.Decide(question.Shoot, question.CloudProfile, when, maintenance.Config{}), due, when)
	// Versions that cannot be read are reported with their updates, which cannot be made.
	answer.Rollout, _ = rollout.Compare(question.Shoot, answer.plan.Shoot)
	return answer
}

// idle is the plan of a shoot that is not maintained now.
func idle(plan maintenance.Plan, shoot *gardencorev1beta1.Shoot) maintenance.Plan {
	stay := func(update version.Update) version.Update {
		return version.Update{From: update.From, To: update.From, Class: version.None,
			Reason: "The shoot is not maintained now", Expires: update.Expires}
	}
	still := maintenance.Plan{ControlPlane: stay(plan.ControlPlane), Shoot: shoot}
	for _, pool := range plan.Pools {
		kept := maintenance.Pool{Name: pool.Name}
		if pool.Kubernetes != nil {
			update := stay(*pool.Kubernetes)
			kept.Kubernetes = &update
		}
		if pool.MachineImage != nil {
			update := stay(*pool.MachineImage)
			kept.MachineImage = &update
		}
		still.Pools = append(still.Pools, kept)
	}
	return still
}

func answerOf(plan maintenance.Plan, due bool, when time.Time) maintenanceAnswer {
	answer := maintenanceAnswer{
		Maintained: due, When: when, ControlPlane: plan.ControlPlane, Workers: map[string]poolAnswer{},
		SideChanges: plan.SideChanges, Operation: plan.Operation, Spec: &plan.Shoot.Spec, plan: plan,
	}
	for _, pool := range plan.Pools {
		answer.Workers[pool.Name] = poolAnswer{Kubernetes: pool.Kubernetes, MachineImage: pool.MachineImage}
	}
	if last := plan.Shoot.Status.LastMaintenance; last != nil {
		answer.LastMaintenance = lastMaintenance{State: last.State, Description: last.Description}
		if last.FailureReason != nil {
			answer.LastMaintenance.FailureReason = *last.FailureReason
		}
	}
	return answer
}
