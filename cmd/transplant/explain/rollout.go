package explain

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

// rolloutQuestion asks what a change of a shoot does to its nodes.
type rolloutQuestion struct {
	OldShoot *gardencorev1beta1.Shoot `json:"oldShoot"`
	NewShoot *gardencorev1beta1.Shoot `json:"newShoot"`
}

func (q *rolloutQuestion) setDefaults() {
	for _, shoot := range []*gardencorev1beta1.Shoot{q.OldShoot, q.NewShoot} {
		if shoot != nil {
			shoot.SetDefaults()
		}
	}
}

// rolloutAnswer says it by pool: whether its nodes are rolled or updated in place, or that the pool comes or goes.
type rolloutAnswer struct {
	Pools    map[string]any    `json:"pools"`
	Verdicts []rollout.Verdict `json:"verdicts,omitempty"`
}

// newRollout is the topic `rollout`.
func newRollout() *cobra.Command {
	var (
		before, after string
		output        outputFlag
	)
	command := &cobra.Command{
		Use:     "rollout",
		Short:   "Explain whether a change of a shoot rolls its nodes",
		Example: "  transplant explain rollout --old before.yaml --new after.yaml",
		RunE: func(command *cobra.Command, _ []string) error {
			if err := required([2]string{"old", before}, [2]string{"new", after}); err != nil {
				return err
			}
			question := rolloutQuestion{OldShoot: &gardencorev1beta1.Shoot{}, NewShoot: &gardencorev1beta1.Shoot{}}
			err := readObject(command, "old", before, "Shoot", question.OldShoot, choice{})
			same := named("--old", question.OldShoot.Namespace, question.OldShoot.Name)
			if err := errors.Join(err, readObject(command, "new", after, "Shoot", question.NewShoot, same)); err != nil {
				return err
			}
			answer, err := judgeRollout(question)
			if err != nil {
				return fmt.Errorf("compare %s with %s: %w", before, after, err)
			}
			return output.Print(command.OutOrStdout(), answer, func(out io.Writer) error {
				p := printer{out: out}
				printVerdicts(&p, answer.Verdicts)
				return p.err
			})
		},
	}
	command.Flags().StringVar(&before, "old", "", "file of the Shoot before the change")
	command.Flags().StringVar(&after, "new", "", "file of the Shoot after the change")
	output.register(command)
	const shoot = `{"spec":{"kubernetes":{"version":"%s"},"provider":{"workers":[{"name":"a"}]}}}`
	return withJSONL(command, lines{
		sample: fmt.Sprintf(`{"id":1,"oldShoot":`+shoot+`,"newShoot":`+shoot+`}`, "1.34.3", "1.35.1"),
		needs:  []string{"oldShoot", "newShoot"},
	}, judgeRollout)
}

func judgeRollout(question rolloutQuestion) (rolloutAnswer, error) {
	if question.OldShoot == nil || question.NewShoot == nil {
		return rolloutAnswer{}, errors.New("fields oldShoot and newShoot: give both")
	}
	if err := errors.Join(
		checkVersion("Shoot", question.OldShoot.APIVersion, "oldShoot.apiVersion"),
		checkVersion("Shoot", question.NewShoot.APIVersion, "newShoot.apiVersion"),
	); err != nil {
		return rolloutAnswer{}, err
	}
	verdicts, err := rollout.Compare(question.OldShoot, question.NewShoot)
	if err != nil {
		return rolloutAnswer{}, err
	}
	answer := rolloutAnswer{Pools: map[string]any{}, Verdicts: verdicts}
	for _, verdict := range verdicts {
		switch verdict.Kind {
		case rollout.Added, rollout.Removed:
			answer.Pools[verdict.Pool] = verdict.Kind
		default:
			answer.Pools[verdict.Pool] = verdict.Due()
		}
	}
	return answer, nil
}

// printVerdicts says for people what happens to the nodes of every pool.
func printVerdicts(p *printer, verdicts []rollout.Verdict) {
	meaning := map[rollout.Kind]string{
		rollout.Stays:   "keeps its nodes, and none of them is drained",
		rollout.Rolls:   "rolls: every node is drained and replaced",
		rollout.InPlace: "is updated in place: every node is drained, updated and kept",
		rollout.Added:   "is new",
		rollout.Removed: "goes, with its nodes",
	}
	if len(verdicts) == 0 {
		p.line("There are no worker pools.")
	}
	for _, verdict := range verdicts {
		p.line("Worker pool %s %s", verdict.Pool, meaning[verdict.Kind])
		for _, trigger := range verdict.Triggers {
			p.line("  because %s changes from %s to %s", trigger.Field, orUnset(trigger.From), orUnset(trigger.To))
		}
	}
}

func orUnset(value string) string {
	if value == "" {
		return "unset"
	}
	return fmt.Sprintf("%q", value)
}
