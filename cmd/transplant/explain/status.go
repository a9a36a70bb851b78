package explain

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/care/health"
)

// statusQuestion asks for the overall status of a shoot.
type statusQuestion struct {
	ShootStatus *gardencorev1beta1.ShootStatus `json:"shootStatus"`
}

// statusAnswer is the value of the label, and what decided it.
type statusAnswer struct {
	Value health.StatusLabel `json:"value"`
	Why   string             `json:"why,omitempty"`
}

// newStatus is the topic `status`.
func newStatus() *cobra.Command {
	var (
		shoot  string
		output outputFlag
	)
	command := &cobra.Command{
		Use:     "status",
		Short:   "Explain whether a shoot counts as healthy",
		Example: "  transplant explain status --shoot shoot.yaml",
		RunE: func(command *cobra.Command, _ []string) error {
			if err := required([2]string{"shoot", shoot}); err != nil {
				return err
			}
			object := gardencorev1beta1.Shoot{}
			if err := readObject(command, "shoot", shoot, "Shoot", &object, choice{}); err != nil {
				return err
			}
			answer, err := judgeStatus(statusQuestion{ShootStatus: &object.Status})
			if err != nil {
				return err
			}
			return output.Print(command.OutOrStdout(), answer, func(out io.Writer) error {
				p := printer{out: out}
				p.line("Label %s=%s", constants.ShootStatus, answer.Value)
				p.line("  because %s", answer.Why)
				return p.err
			})
		},
	}
	command.Flags().StringVar(&shoot, "shoot", "", "file of the Shoot, with its status")
	output.register(command)
	return withJSONL(command, lines{
		sample: `{"id":1,"shootStatus":{"conditions":[{"type":"EveryNodeReady","status":"False"}]}}`,
		needs:  []string{"shootStatus"},
	}, judgeStatus)
}

func judgeStatus(question statusQuestion) (statusAnswer, error) {
	if question.ShootStatus == nil {
		return statusAnswer{}, errors.New("field shootStatus is not set: give the status of a Shoot")
	}
	value, why := health.Label(question.ShootStatus)
	return statusAnswer{Value: value, Why: why}, nil
}
