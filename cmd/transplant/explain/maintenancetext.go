package explain

import (
	"fmt"
	"io"
	"time"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
	"github.com/transplant-sim/transplant/controllers/maintenance/window"
)

// mostUnchosen is how many versions that were not chosen are printed; -o json has all.
const mostUnchosen = 6

// printMaintenance is the answer for people.
func printMaintenance(out io.Writer, question maintenanceQuestion, answer maintenanceAnswer) error {
	p := &printer{out: out}
	shoot := question.Shoot
	p.line("Shoot %s, CloudProfile %s, at %s", nameOf(shoot), question.CloudProfile.Name, stamp(*question.Now))
	p.line("")
	printWhen(p, shoot, *question.Now, answer)
	p.line("")
	p.line("Control plane")
	printUpdate(p, "Kubernetes", &answer.ControlPlane, answer.When)
	for i, pool := range answer.plan.Pools {
		p.line("Worker pool %s", pool.Name)
		if pool.Kubernetes == nil {
			p.line("  Kubernetes follows the control plane")
		}
		printUpdate(p, "Kubernetes", pool.Kubernetes, answer.When)
		if image := shoot.Spec.Provider.Workers[i].Machine.Image; image != nil {
			printUpdate(p, "machine image "+image.Name, pool.MachineImage, answer.When)
		}
	}
	printRest(p, shoot, answer)
	return p.err
}

func nameOf(shoot *gardencorev1beta1.Shoot) string {
	if shoot.Namespace == "" {
		return shoot.Name
	}
	return shoot.Namespace + "/" + shoot.Name
}

// printWhen says when the next maintenance is.
func printWhen(p *printer, shoot *gardencorev1beta1.Shoot, now time.Time, answer maintenanceAnswer) {
	effective := window.EffectiveOf(shoot)
	switch {
	case shoot.DeletionTimestamp != nil:
		p.line("The shoot is being deleted: it is not maintained any more. This is what would be done otherwise.")
	case maintenance.AskedFor(shoot):
		p.line("It is maintained at once: the annotation gardener.cloud/operation asks for it.")
	case effective.Always():
		p.line("It may be maintained at any time, so also now: it has no time window that can be read (field " +
			"spec.maintenance.timeWindow).")
	case answer.Maintained:
		p.line("It is maintained now: maintenance may begin at %s, which is 15 minutes less than the time window.", effective)
	default:
		p.line("The next maintenance begins between %s and %s (in %s), at a random moment.",
			stamp(answer.When), stamp(answer.When.Add(effective.Duration())), short(answer.When.Sub(now)))
		p.line("This is what it does if nothing changes until its begin.")
	}
}

func printUpdate(p *printer, noun string, update *version.Update, when time.Time) {
	if update == nil {
		return
	}
	switch update.Class {
	case version.Automatic:
		p.line("  %s %s → %s, automatically", noun, update.From, update.To)
	case version.Forced:
		p.line("  %s %s → %s, by force", noun, update.From, update.To)
	case version.Failed:
		p.line("  %s %s should be updated by force, but cannot be", noun, update.From)
	default:
		p.line("  %s %s stays", noun, update.From)
	}
	p.line("    %s", sentence(update.Reason))
	if update.Failure != "" {
		p.line("    %s", sentence(update.Failure))
	}
	if update.Expires != nil && update.Expires.After(when) {
		p.line("    %s expires at %s (in %s); from then on it is updated by force.", update.From, stamp(*update.Expires),
			short(update.Expires.Sub(when)))
	}
	for i, other := range update.Unchosen {
		if i == mostUnchosen {
			p.line("    … and %d more: see -o json.", len(update.Unchosen)-mostUnchosen)
			break
		}
		p.line("    Not %s: it %s.", other.Version, other.Why)
	}
}

// printRest says what changes besides versions, and what follows.
func printRest(p *printer, shoot *gardencorev1beta1.Shoot, answer maintenanceAnswer) {
	list(p, "Also changed", answer.SideChanges)
	var rotations []string
	for _, rotation := range answer.plan.Rotations {
		rotations = append(rotations, fmt.Sprintf("%s: %s", rotation.Description, rotation.Reason))
	}
	list(p, "Credentials", rotations)
	p.line("")
	printVerdicts(p, answer.Rollout)
	p.line("")
	printOperation(p, shoot, answer.Operation)
	last := answer.LastMaintenance
	switch {
	case last.FailureReason != "":
		p.line("status.lastMaintenance will be %s. %s", last.State, sentence(last.FailureReason))
	case last.State != "":
		p.line("status.lastMaintenance will be %s.", last.State)
	}
}

func printOperation(p *printer, shoot *gardencorev1beta1.Shoot, operation string) {
	switch {
	case operation != "":
		p.line("Then the annotation gardener.cloud/operation asks for: %s.", operation)
	case shoot.Status.LastOperation == nil:
		p.line("No operation is asked for: the shoot has had none yet (field status.lastOperation is not set).")
	default:
		p.line("No operation is asked for: the shoot's last one has failed (field status.lastOperation.state), and no " +
			"annotation says to retry it.")
	}
}

func list(p *printer, title string, items []string) {
	if len(items) == 0 {
		return
	}
	p.line("%s", title)
	for _, item := range items {
		p.line("  %s", sentence(item))
	}
}
