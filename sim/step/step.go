// Package step is what happens in a scenario: one file per verb, or for a verb and its reverse. A step is plain data,
// part of the scenario format. It can be checked before anything is started, and carried out in an environment.
//
// To add a verb, write its file and add one field to Spec. A step judges nothing. An expectation that is not met in
// time is an Unmet error; if nobody can see whether it was met, an Unknown. Every other error means that the run could
// not be finished.
package step

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/step/dryrun"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// Step is one thing that happens in a scenario.
type Step interface {
	// Check finds what makes the step impossible in this state, and carries the state on.
	Check(path *field.Path, state *dryrun.State) field.ErrorList
	// Subject is the shoot or fault it is about, or empty.
	Subject() string
	// String describes the step to people, in a few words.
	String() string
	// Run carries the step out.
	Run(ctx context.Context, env *Environment) error
}

// Defaulter is a step that has defaults to fill in.
type Defaulter interface{ Default() }

// Timed is a step with a deadline, which can be put off for slow machines.
type Timed interface{ deadline() *metav1.Duration }

// Stretch multiplies the deadlines of the step, if it has one. What the scenario itself takes, such as the length of a
// fault or a wait for a time, stays.
func (s *Spec) Stretch(factor float64) {
	if _, one := s.Step(); one != nil {
		if p, has := one.(Timed); has {
			p.deadline().Duration = time.Duration(float64(p.deadline().Duration) * factor)
		}
	}
}

// Spec is a step in a scenario: exactly one verb.
type Spec struct {
	Load       *Load       `json:"load,omitempty"`
	Migrate    *Migrate    `json:"migrate,omitempty"`
	Expect     *Expect     `json:"expect,omitempty"`
	Wait       *Wait       `json:"wait,omitempty"`
	Create     *Create     `json:"create,omitempty"`
	Delete     *Delete     `json:"delete,omitempty"`
	Hibernate  *Hibernate  `json:"hibernate,omitempty"`
	Wake       *Wake       `json:"wake,omitempty"`
	Patch      *Patch      `json:"patch,omitempty"`
	Apply      *Apply      `json:"apply,omitempty"`
	Remove     *Remove     `json:"remove,omitempty"`
	Fault      *Inject     `json:"fault,omitempty"`
	Heal       *Heal       `json:"heal,omitempty"`
	Reschedule *Reschedule `json:"reschedule,omitempty"`
	Select     *Select     `json:"select,omitempty"`

	RestoreOutside *RestoreOutside `json:"restoreOutside,omitempty"`
	HandOver       *HandOver       `json:"handOver,omitempty"`
}

// Verbs are the names of all steps, as they stand in files.
func Verbs() []string { return choice.Members[Step, Spec]() }

// Step is the one that is set, with its verb; nil when not exactly one is.
func (s *Spec) Step() (string, Step) { return choice.Only[Step](s) }

// NewState is the state before the first of these steps.
func NewState(l landscape.Landscape, steps []Spec) *dryrun.State { return dryrun.New(l, Later(steps)) }

// Later are the shoots that a step creates, so that they are not there before it.
func Later(steps []Spec) map[string]bool {
	later, deleted := map[string]bool{}, map[string]bool{}
	for i := range steps {
		if d := steps[i].Delete; d != nil && !d.Refused {
			deleted[d.Shoot] = true
		}
		if c := steps[i].Create; c != nil && !deleted[c.Shoot] {
			later[c.Shoot] = true
		}
	}
	return later
}

// Check finds what makes the step impossible in this state, and carries the state on.
func (s *Spec) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	switch given, steps := choice.Given[Step](s); len(given) {
	case 0:
		state.Unsure = true // it may be any
		return field.ErrorList{field.Required(path, "exactly one step must be given: "+strings.Join(Verbs(), ", "))}
	case 1:
		return steps[0].Check(path.Child(given[0]), state)
	default:
		state.Unsure = true
		return field.ErrorList{field.Invalid(path, strings.Join(given, ", "),
			`an item of steps is one step: begin a line with "- " for each`)}
	}
}

// Environment is what steps may use to run.
type Environment struct {
	World   world.World
	Clients *world.Clients
	Record  timeline.Recorder
	Clock   clock.Clock
	Faults  *fault.Active
	Shoots  Shoots
}

// Shoots sets up shoots with their probes, and dismisses them.
type Shoots interface {
	// SetUp creates and populates the shoot, and watches it from then on. It returns when the shoot is as the
	// landscape wants it.
	SetUp(ctx context.Context, shoot string) error
	// Load starts numbered writes.
	Load(ctx context.Context, load Load) error
	// Dismiss ends writes to and probes of a shoot that is about to be deleted.
	Dismiss(shoot string)
}

// Unmet says that a condition did not become true in time.
type Unmet struct{ Why string }

func (u Unmet) Error() string { return u.Why }

// Unknown says that nobody could see, when its time was over, whether a condition is true.
type Unknown struct{ Why string }

func (u Unknown) Error() string { return u.Why }

// refused turns the outcome of what the API must not admit around: an Unmet error when it was admitted.
func refused(what string, err error) error {
	switch {
	case err == nil:
		return Unmet{Why: what + ": it was admitted"}
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
		return nil
	}
	return err
}

// Refused says whether the step expects that the API refuses what it asks for.
func (s *Spec) Refused() bool {
	return s.RestoreOutside != nil && s.RestoreOutside.Refused ||
		s.Delete != nil && s.Delete.Refused || s.Migrate != nil && s.Migrate.Refused || s.Patch != nil &&
		s.Patch.Refused != ""
}

func inVain(refused bool) string {
	if refused {
		return ", which must be refused"
	}
	return ""
}
