package explain

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/spelling"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
)

// errorsQuestion asks whether an operation that failed is tried again.
type errorsQuestion struct {
	Codes []gardencorev1beta1.ErrorCode `json:"codes"`
	// Messages are classified, and their codes count beside the others.
	Messages []string `json:"messages,omitempty"`
}

// errorsAnswer says so, and what is to be known about the codes.
type errorsAnswer struct {
	NonRetryable bool         `json:"nonRetryable"`
	Codes        []codeAnswer `json:"codes,omitempty"`
	// Operation is for a shoot: what its errors make of its operation.
	Operation *operationAnswer `json:"operation,omitempty"`
}

type codeAnswer struct {
	Code      gardencorev1beta1.ErrorCode `json:"code"`
	Known     bool                        `json:"known"`
	Retryable bool                        `json:"retryable"`
	Meaning   string                      `json:"meaning,omitempty"`
	Remedy    string                      `json:"remedy,omitempty"`
}

type operationAnswer struct {
	State gardencorev1beta1.LastOperationState `json:"state"`
	Why   string                               `json:"why"`
	// RetriedUntil is when the cycle of retries ends, if nothing forbids it before.
	RetriedUntil *time.Time `json:"retriedUntil,omitempty"`
}

// errorsFlags are what people ask with.
type errorsFlags struct {
	codes, messages []string
	shoot           string
	retryDuration   time.Duration
	now             nowFlag
	output          outputFlag
}

// newErrors is the topic `errors`.
func newErrors() *cobra.Command {
	flags := &errorsFlags{}
	command := &cobra.Command{
		Use:   "errors",
		Short: "Explain error codes, and whether a failed operation is retried",
		Example: `  transplant explain errors --code ERR_INFRA_QUOTA_EXCEEDED
  transplant explain errors --message "VpcLimitExceeded: the maximum number of VPCs has been reached"
  transplant explain errors --shoot shoot.yaml`,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	command.Flags().StringSliceVar(&flags.codes, "code", nil, "an error code; may be repeated")
	command.Flags().StringArrayVar(&flags.messages, "message", nil, "an error message to classify; may be repeated")
	command.Flags().StringVar(&flags.shoot, "shoot", "", "file of a Shoot, to explain its lastErrors")
	command.Flags().DurationVar(&flags.retryDuration, "retry-duration", errorcodes.DefaultRetryDuration,
		"how long operations are retried (with --shoot)")
	flags.now.register(command)
	flags.output.register(command)
	return withJSONL(command, lines{
		sample: `{"id":1,"codes":["ERR_INFRA_QUOTA_EXCEEDED"],"messages":["AccessDenied"]}`,
		lists:  []string{"codes", "messages"},
	}, judgeErrors)
}

func (f *errorsFlags) run(command *cobra.Command) error {
	if len(f.codes) == 0 && len(f.messages) == 0 && f.shoot == "" {
		return required([2]string{"code, --message or --shoot", ""})
	}
	question := errorsQuestion{Messages: f.messages}
	for _, code := range f.codes {
		if err := checkCode(code); err != nil {
			return err
		}
		question.Codes = append(question.Codes, gardencorev1beta1.ErrorCode(code))
	}
	shoot, err := f.readShoot(command, &question)
	if err != nil {
		return err
	}
	answer, err := judgeErrors(question)
	if err != nil {
		return err
	}
	if shoot != nil {
		if answer.Operation, err = f.operation(shoot); err != nil {
			return err
		}
	}
	return f.output.Print(command.OutOrStdout(), answer, func(out io.Writer) error {
		return printErrors(out, question, answer)
	})
}

// checkCode refuses what somebody has mistyped; codes that come from elsewhere may be unknown.
func checkCode(code string) error {
	if _, found := errorcodes.Lookup(gardencorev1beta1.ErrorCode(code)); found {
		return nil
	}
	var known []string
	for _, k := range errorcodes.All() {
		known = append(known, string(k.Code))
	}
	hint := ""
	if near := spelling.Nearest(code, known, len(code)/3); near != "" {
		hint = fmt.Sprintf("did you mean %s? ", near)
	}
	return fmt.Errorf("read --code: %q is no error code: %sknown are %s", code, hint, strings.Join(known, ", "))
}

// readShoot adds the codes of a shoot's errors to the question; nil if no shoot is asked about.
func (f *errorsFlags) readShoot(command *cobra.Command, question *errorsQuestion) (*gardencorev1beta1.Shoot, error) {
	if f.shoot == "" {
		return nil, nil
	}
	shoot := &gardencorev1beta1.Shoot{}
	if err := readObject(command, "shoot", f.shoot, "Shoot", shoot, choice{}); err != nil {
		return nil, err
	}
	if len(shoot.Status.LastErrors) == 0 {
		return nil, fmt.Errorf("read the Shoot in %s: field status.lastErrors is empty: there is nothing to explain", f.shoot)
	}
	for _, e := range shoot.Status.LastErrors {
		question.Codes = append(question.Codes, e.Codes...)
	}
	return shoot, nil
}

func (f *errorsFlags) operation(shoot *gardencorev1beta1.Shoot) (*operationAnswer, error) {
	now, err := f.now.time(clock.RealClock{})
	if err != nil {
		return nil, err
	}
	if f.retryDuration <= 0 {
		return nil, errors.New("read --retry-duration: give a duration above zero, for example 12h")
	}
	answer := &operationAnswer{}
	answer.State, answer.Why = errorcodes.StateAfter(shoot.Status.LastErrors, shoot.Status.RetryCycleStartTime, now,
		f.retryDuration)
	if start := shoot.Status.RetryCycleStartTime; start != nil &&
		answer.State == gardencorev1beta1.LastOperationStateError {
		until := start.Add(f.retryDuration).UTC()
		answer.RetriedUntil = &until
	}
	return answer, nil
}

func judgeErrors(question errorsQuestion) (errorsAnswer, error) {
	codes := slices.Clone(question.Codes)
	for _, message := range question.Messages {
		codes = append(codes, errorcodes.Classify(message)...)
	}
	answer := errorsAnswer{NonRetryable: errorcodes.NonRetryable(codes...)}
	seen := map[gardencorev1beta1.ErrorCode]bool{}
	for _, code := range codes {
		if seen[code] {
			continue
		}
		seen[code] = true
		known, found := errorcodes.Lookup(code)
		answer.Codes = append(answer.Codes, codeAnswer{
			Code: code, Known: found, Retryable: !errorcodes.NonRetryable(code), Meaning: known.Meaning, Remedy: known.Remedy,
		})
	}
	return answer, nil
}

// printErrors is the answer for people.
func printErrors(out io.Writer, question errorsQuestion, answer errorsAnswer) error {
	p := printer{out: out}
	for _, message := range question.Messages {
		if len(errorcodes.Classify(message)) == 0 {
			p.line("%q deserves no code: the operation is retried", message)
		}
	}
	for _, c := range answer.Codes {
		switch {
		case !c.Known:
			p.line("%s is unknown: the operation is retried", c.Code)
		case c.Retryable:
			p.line("%s: %s; the operation is retried", c.Code, c.Meaning)
		default:
			p.line("%s: %s; the operation is not retried", c.Code, c.Meaning)
		}
		if c.Remedy != "" {
			p.line("  remedy: %s", c.Remedy)
		}
	}
	if o := answer.Operation; o != nil {
		p.line("The operation is %s, because %s", o.State, o.Why)
		if o.RetriedUntil != nil {
			p.line("  it is retried until %s", stamp(*o.RetriedUntil))
		}
	}
	return p.err
}
