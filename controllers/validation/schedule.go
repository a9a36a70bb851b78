package validation

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/window"
)

// hibernationSchedules wants schedules that can be parsed: one bad schedule disables all of them.
func hibernationSchedules(shoot *gardencorev1beta1.Shoot) field.ErrorList {
	if shoot.Spec.Hibernation == nil {
		return nil
	}
	var errs field.ErrorList
	given := seen{}
	for i, schedule := range shoot.Spec.Hibernation.Schedules {
		at := field.NewPath("spec", "hibernation", "schedules").Index(i)
		start, end, location := ptr.Deref(schedule.Start, ""), ptr.Deref(schedule.End, ""),
			ptr.Deref(schedule.Location, "UTC")
		if schedule.Start == nil && schedule.End == nil {
			errs = append(errs, field.Required(at, "must have a start, an end, or both"))
			continue
		}
		errs = append(errs, cronLine(at.Child("start"), schedule.Start)...)
		errs = append(errs, cronLine(at.Child("end"), schedule.End)...)
		if schedule.Start != nil && schedule.End != nil && start == end {
			errs = append(errs, field.Invalid(at.Child("end"), end,
				"must differ from start: at the same time, waking up wins, and the shoot never hibernates"))
		}
		errs = append(errs, timeZone(at.Child("location"), location)...)
		errs = append(errs, given.once(at, fmt.Sprintf("%s to %s in %s", start, end, location))...)
	}
	return errs
}

const cronForm = `must be a time of day and week in five fields, for example "0 18 * * 1-5"`

// cronLine wants a time that occurs, and that does not depend on who parses it and when: no @every, and no time zone.
func cronLine(path *field.Path, line *string) field.ErrorList {
	if line == nil {
		return nil
	}
	if strings.HasPrefix(*line, "@every") || strings.Contains(*line, "TZ=") {
		return field.ErrorList{field.Invalid(path, *line, cronForm+"; its time zone is location's")}
	}
	schedule, err := cron.ParseStandard(*line)
	if err != nil {
		return field.ErrorList{field.Invalid(path, *line, fmt.Sprintf("%s: %v", cronForm, err))}
	}
	if schedule.Next(time.Unix(0, 0).UTC()).IsZero() {
		return field.ErrorList{field.Invalid(path, *line, "must be a time that occurs: this one never does")}
	}
	return nil
}

// timeZone wants a zone of the database. "Local" depends on the machine.
func timeZone(path *field.Path, name string) field.ErrorList {
	if _, err := time.LoadLocation(name); err == nil && name != "" && name != "Local" {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name,
		"must be a time zone of the IANA database, for example Europe/Berlin")}
}

const (
	// leastRotation and mostRotation bound how often credentials are rotated by themselves.
	leastRotation = 30 * time.Minute
	mostRotation  = 90 * 24 * time.Hour
)

func maintenance(shoot *gardencorev1beta1.Shoot) field.ErrorList {
	wanted := shoot.Spec.Maintenance
	if wanted == nil {
		return nil
	}
	path := field.NewPath("spec", "maintenance")
	errs := timeWindow(path.Child("timeWindow"), wanted.TimeWindow)
	if wanted.AutoRotation == nil || wanted.AutoRotation.Credentials == nil {
		return errs
	}
	credentials, at := wanted.AutoRotation.Credentials, path.Child("autoRotation", "credentials")
	for _, one := range []struct {
		name   string
		config *gardencorev1beta1.MaintenanceRotationConfig
	}{
		{"etcdEncryptionKey", credentials.ETCDEncryptionKey}, {"observability", credentials.Observability},
		{"sshKeypair", credentials.SSHKeypair},
	} {
		if one.config != nil {
			errs = append(errs,
				within(at.Child(one.name, "rotationPeriod"), one.config.RotationPeriod, leastRotation, mostRotation)...)
		}
	}
	return errs
}

// timeWindow wants a window that can be read, and in which a maintenance has the time it needs
// (docs/specification/versions.md#spec-4-6).
func timeWindow(path *field.Path, wanted *gardencorev1beta1.MaintenanceTimeWindow) field.ErrorList {
	if wanted == nil {
		return nil
	}
	var errs field.ErrorList
	for _, end := range []struct{ name, text string }{{"begin", wanted.Begin}, {"end", wanted.End}} {
		if _, err := window.Parse(end.text, end.text); err != nil {
			errs = append(errs, field.Invalid(path.Child(end.name), end.text,
				"must be a time of the form HHMMSS+ZZZZ, for example 220000+0100"))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	w, err := window.Parse(wanted.Begin, wanted.End)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	if d := w.Duration(); d < window.Minimum || d > window.Maximum {
		return field.ErrorList{field.Invalid(path, fmt.Sprintf("%s to %s", wanted.Begin, wanted.End),
			fmt.Sprintf("must be between %v and %v long, and is %v", window.Minimum, window.Maximum, d))}
	}
	return nil
}
