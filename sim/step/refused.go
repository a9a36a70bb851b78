package step

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

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
	return s.Delete != nil && s.Delete.Refused || s.Migrate != nil && s.Migrate.Refused || s.Patch != nil &&
		s.Patch.Refused != ""
}

func inVain(refused bool) string {
	if refused {
		return ", which must be refused"
	}
	return ""
}
