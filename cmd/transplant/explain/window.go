package explain

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/window"
)

// windowQuestion asks about a maintenance time window.
type windowQuestion struct {
	Begin string `json:"begin"`
	End   string `json:"end"`
	// Now is the present if it is not given.
	Now *time.Time `json:"now"`
	// RandomFraction is where in the window a random moment falls, in [0, 1).
	RandomFraction     float64    `json:"randomFraction"`
	LastReconciliation *time.Time `json:"lastReconciliation"`

	none bool // there is no window
}

// windowAnswer says where now is in the window, as written and as it is effective.
type windowAnswer struct {
	Raw            *windowSide `json:"raw,omitempty"`
	Effective      *windowSide `json:"effective,omitempty"`
	IsNowIn        bool        `json:"isNowInEffectiveShootMaintenanceTimeWindow"`
	LastReconciled *bool       `json:"lastReconciliationDuringThisTimeWindow,omitempty"`
	ParseError     string      `json:"parseError,omitempty"`
}

// windowSide is a window as it lies around now.
type windowSide struct {
	Contains        bool       `json:"contains"`
	DurationSeconds int64      `json:"durationSeconds"`
	AdjustedBegin   time.Time  `json:"adjustedBegin"`
	AdjustedEnd     time.Time  `json:"adjustedEnd"`
	BeginUTC        string     `json:"beginUTC"`
	EndUTC          string     `json:"endUTC"`
	NextRandom      *time.Time `json:"nextRandom,omitempty"`
	NextFromNow     *time.Time `json:"nextRandomShiftBeginToNow,omitempty"`
}

// newWindow is the topic `window`.
func newWindow() *cobra.Command {
	var (
		begin, end, shoot string
		now               nowFlag
		output            outputFlag
	)
	command := &cobra.Command{
		Use:   "window",
		Short: "Explain when maintenance may begin",
		Example: `  transplant explain window --begin 220000+0100 --end 230000+0100
  transplant explain window --shoot shoot.yaml`,
		RunE: func(command *cobra.Command, _ []string) error {
			at, err := now.time(clock.RealClock{})
			if err != nil {
				return err
			}
			question := windowQuestion{Begin: begin, End: end, Now: &at}
			if question, err = windowOf(command, question, shoot); err != nil {
				return err
			}
			answer, err := judgeWindow(question)
			if err != nil {
				return err
			}
			if answer.ParseError != "" && shoot == "" {
				return errors.New(answer.ParseError)
			}
			return output.Print(command.OutOrStdout(), answer, func(out io.Writer) error {
				return printWindow(out, question, answer)
			})
		},
	}
	command.Flags().StringVar(&begin, "begin", "", "begin of the window, for example 220000+0100")
	command.Flags().StringVar(&end, "end", "", "end of the window")
	command.Flags().StringVar(&shoot, "shoot", "", "file of a Shoot with the window")
	now.register(command)
	output.register(command)
	return withJSONL(command, lines{
		sample: `{"id":1,"begin":"220000+0100","end":"230000+0100","now":"2026-11-21T12:00:00Z"}`,
		needs:  []string{"begin", "end"},
	}, func(question windowQuestion) (windowAnswer, error) {
		question.Now = orPresent(question.Now)
		return judgeWindow(question)
	})
}

// windowOf completes a question with the window of the shoot in a file, which may have none.
func windowOf(command *cobra.Command, question windowQuestion, path string) (windowQuestion, error) {
	if path == "" {
		return question, required([2]string{"begin (and --end) or --shoot", question.Begin}, [2]string{"end", question.End})
	}
	if question.Begin != "" || question.End != "" {
		return question, errors.New("set either --shoot or --begin and --end")
	}
	var shoot gardencorev1beta1.Shoot
	if err := readObject(command, "shoot", path, "Shoot", &shoot, choice{}); err != nil {
		return question, err
	}
	if shoot.Spec.Maintenance == nil || shoot.Spec.Maintenance.TimeWindow == nil {
		question.none = true
		return question, nil
	}
	question.Begin, question.End = shoot.Spec.Maintenance.TimeWindow.Begin, shoot.Spec.Maintenance.TimeWindow.End
	if shoot.Status.LastOperation != nil && !shoot.Status.LastOperation.LastUpdateTime.IsZero() {
		question.LastReconciliation = &shoot.Status.LastOperation.LastUpdateTime.Time
	}
	return question, nil
}

func judgeWindow(question windowQuestion) (windowAnswer, error) {
	if question.none {
		return windowAnswer{IsNowIn: true}, nil
	}
	if question.RandomFraction < 0 || question.RandomFraction >= 1 {
		return windowAnswer{}, fmt.Errorf("field randomFraction is %v: give a number from 0 up to, but not 1",
			question.RandomFraction)
	}
	shoot := &gardencorev1beta1.Shoot{Spec: gardencorev1beta1.ShootSpec{Maintenance: &gardencorev1beta1.Maintenance{
		TimeWindow: &gardencorev1beta1.MaintenanceTimeWindow{Begin: question.Begin, End: question.End},
	}}}
	effective := window.EffectiveOf(shoot)
	answer := windowAnswer{IsNowIn: effective.Contains(*question.Now)}
	if question.LastReconciliation != nil {
		during := effective.ReconciledIn(*question.LastReconciliation, *question.Now)
		answer.LastReconciled = &during
	}
	raw, err := window.Parse(question.Begin, question.End)
	if err != nil {
		answer.ParseError = err.Error()
		return answer, nil
	}
	answer.Raw, answer.Effective = sideOf(raw, *question.Now), sideOf(effective, *question.Now)
	next, fromNow := effective.Moment(*question.Now, question.RandomFraction),
		effective.MomentFromNow(*question.Now, question.RandomFraction)
	answer.Effective.NextRandom, answer.Effective.NextFromNow = &next, &fromNow
	return answer, nil
}

func sideOf(w window.Window, now time.Time) *windowSide {
	begin, end := w.Texts()
	return &windowSide{
		Contains: w.Contains(now), DurationSeconds: int64(w.Duration() / time.Second),
		AdjustedBegin: w.BeginOn(now), AdjustedEnd: w.EndOn(now), BeginUTC: begin, EndUTC: end,
	}
}

// printWindow is the answer for people.
func printWindow(out io.Writer, question windowQuestion, answer windowAnswer) error {
	p := printer{out: out}
	if question.none {
		p.line("Window     none: field spec.maintenance.timeWindow is not set")
		p.line("Now        %s: maintenance may begin, as at any time", stamp(*question.Now))
		return p.err
	}
	p.line("Window     %s to %s", question.Begin, question.End)
	if answer.ParseError != "" {
		p.line("           cannot be read: %s", answer.ParseError)
		p.line("           Correct the field spec.maintenance.timeWindow: as it is, maintenance may begin at any time.")
		return p.err
	}
	raw, _ := window.Parse(question.Begin, question.End)
	effective := raw.Effective()
	p.line("           that is %s", raw)
	if length := raw.Duration(); length < window.Minimum || length > window.Maximum {
		p.line("           Admission refuses it: it is %s long, not between %s and %s.", short(length), short(window.Minimum),
			short(window.Maximum))
	}
	p.line("Effective  %s: maintenance begins no later than %s before the end", effective, short(window.Margin))
	place := "outside"
	if answer.IsNowIn {
		place = "inside, maintenance may begin"
	}
	p.line("Now        %s: %s", stamp(*question.Now), place)
	next := effective.Next(*question.Now)
	if next.Before(*question.Now) {
		next = next.Add(24 * time.Hour) // a window that ends as it begins is over after a second
	}
	p.line("Next       %s to %s (in %s), at a random moment", stamp(next), stamp(next.Add(effective.Duration())),
		short(next.Sub(*question.Now)))
	return p.err
}
