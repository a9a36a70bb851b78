package admission

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/shootrules"
	"github.com/transplant-sim/transplant/controllers/maintenance/image"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
	"github.com/transplant-sim/transplant/controllers/maintenance/versionrules"
)

// partly is a version that names only a part of itself, or nothing.
var partly = regexp.MustCompile(`^(\d+(\.\d+)?)?$`)

// gap is a version in a shoot that has to be completed, and what it is completed to.
type gap struct {
	path *field.Path
	// text is what is written, before what the shoot had there: as long as that is of the kind, it stays.
	text, before string
	// kept is whether the gap is an old one. It stays: to fill it would be a change that nobody has asked for.
	kept bool
	// complete looks the version up.
	complete func(profile *gardencorev1beta1.CloudProfile, now time.Time) (string, error)
	// set writes it into the typed shoot and into the one on the wire.
	set func(full string) error
}

// completeVersions completes the versions of a shoot that name only a part to the highest supported ones
// (docs/specification/versions.md#spec-4-3). The ErrorList names what cannot be completed. What has no profile is
// left for validation to refuse.
func (d *defaulter) completeVersions(ctx context.Context, r *shootrules.Request,
	object *unstructured.Unstructured) (field.ErrorList, error) {
	if !r.ChangesVersions() {
		return nil, nil
	}
	gaps := gapsOf(r, object)
	if len(gaps) == 0 {
		return nil, nil
	}
	profile, missing, err := shootrules.ProfileOf(ctx, d.client, r.Shoot)
	if profile == nil || err != nil {
		return missing, err
	}
	for _, g := range gaps {
		if g.kept {
			continue
		}
		full := g.before
		if full == "" || partly.MatchString(full) || !strings.HasPrefix(full+".", g.text+".") && g.text != "" {
			if full, err = g.complete(profile, d.clock.Now()); err != nil {
				return field.ErrorList{field.Invalid(g.path, g.text, err.Error())}, nil
			}
		}
		if err := g.set(full); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// gapsOf lists the gaps in an order in which each can rely on those before it: what image fits depends on the kubelet.
func gapsOf(r *shootrules.Request, object *unstructured.Unstructured) []gap {
	var gaps []gap
	spec := &r.Shoot.Spec
	path := field.NewPath("spec", "kubernetes", "version")
	if partly.MatchString(spec.Kubernetes.Version) {
		before := versionBefore(r.Old)
		gaps = append(gaps, gap{
			path: path, text: spec.Kubernetes.Version, before: before, kept: r.Old != nil && before == spec.Kubernetes.Version,
			complete: func(p *gardencorev1beta1.CloudProfile, now time.Time) (string, error) {
				return versionrules.CompleteKubernetes(p, spec.Kubernetes.Version, now)
			},
			set: func(full string) error {
				spec.Kubernetes.Version = full
				return unstructured.SetNestedField(object.Object, full, "spec", "kubernetes", "version")
			},
		})
	}
	for i := range spec.Provider.Workers {
		gaps = append(gaps, poolGaps(r, object, i)...)
	}
	return gaps
}

func versionBefore(old *gardencorev1beta1.Shoot) string {
	if old == nil {
		return ""
	}
	return old.Spec.Kubernetes.Version
}

func poolGaps(r *shootrules.Request, object *unstructured.Unstructured, i int) []gap {
	var gaps []gap
	worker := &r.Shoot.Spec.Provider.Workers[i]
	before := r.WorkerBefore(worker.Name)
	path := field.NewPath("spec", "provider", "workers").Index(i)
	if k := worker.Kubernetes; k != nil && k.Version != nil && partly.MatchString(*k.Version) {
		g := gap{path: path.Child("kubernetes", "version"), text: *k.Version}
		if before.Kubernetes != nil && before.Kubernetes.Version != nil {
			g.before, g.kept = *before.Kubernetes.Version, *before.Kubernetes.Version == g.text
		}
		g.complete = func(p *gardencorev1beta1.CloudProfile, now time.Time) (string, error) {
			return completePool(p, g.text, r.Shoot.Spec.Kubernetes.Version, now)
		}
		g.set = func(full string) error {
			k.Version = &full
			return setInWorker(object, i, full, "kubernetes", "version")
		}
		gaps = append(gaps, g)
	}
	if wanted := worker.Machine.Image; wanted == nil || wanted.Name == "" && ptr.Deref(wanted.Version, "") == "" {
		gaps = append(gaps, imageGap(r, object, i, before))
	} else if partly.MatchString(ptr.Deref(wanted.Version, "")) {
		g := gap{path: path.Child("machine", "image", "version"), text: ptr.Deref(wanted.Version, "")}
		if was := before.Machine.Image; was != nil && was.Name == wanted.Name {
			g.before = ptr.Deref(was.Version, "")
			g.kept = g.before == g.text
		}
		g.complete = func(p *gardencorev1beta1.CloudProfile, now time.Time) (string, error) {
			return completeImage(p, r.Shoot, worker, now)
		}
		g.set = func(full string) error {
			wanted.Version = &full
			return setInWorker(object, i, full, "machine", "image", "version")
		}
		gaps = append(gaps, g)
	}
	return gaps
}

// imageGap is for a pool that names no machine image. It keeps the one that it had; a new pool gets the first of the
// profile of which a supported version fits.
func imageGap(r *shootrules.Request, object *unstructured.Unstructured, i int, before gardencorev1beta1.Worker) gap {
	worker, name := &r.Shoot.Spec.Provider.Workers[i], ""
	g := gap{path: field.NewPath("spec", "provider", "workers").Index(i).Child("machine", "image")}
	if was := before.Machine.Image; was != nil {
		name, g.before = was.Name, ptr.Deref(was.Version, "")
	}
	g.kept = before.Name != "" && name == ""
	g.complete = func(profile *gardencorev1beta1.CloudProfile, now time.Time) (string, error) {
		for _, offered := range profile.Spec.MachineImages {
			if name != "" && name != offered.Name {
				continue
			}
			candidate := worker.DeepCopy()
			candidate.Machine.Image = &gardencorev1beta1.ShootMachineImage{Name: offered.Name}
			if full, err := completeImage(profile, r.Shoot, candidate, now); err == nil {
				name = offered.Name
				return full, nil
			}
		}
		return "", errors.New("the CloudProfile has no machine image of which a supported version fits the pool: name one")
	}
	g.set = func(full string) error {
		worker.Machine.Image = &gardencorev1beta1.ShootMachineImage{Name: name, Version: &full}
		return errors.Join(setInWorker(object, i, name, "machine", "image", "name"),
			setInWorker(object, i, full, "machine", "image", "version"))
	}
	return g
}

// completePool prefers the control plane's version if that is of the kind: a pool must not get ahead of it.
func completePool(profile *gardencorev1beta1.CloudProfile, text, controlPlane string, now time.Time) (string, error) {
	if strings.HasPrefix(controlPlane+".", text+".") || text == "" {
		return controlPlane, nil
	}
	return versionrules.CompleteKubernetes(profile, text, now)
}

// completeImage looks among the versions that fit the pool. An image that the profile does not have is refused when the
// shoot is validated.
func completeImage(profile *gardencorev1beta1.CloudProfile, shoot *gardencorev1beta1.Shoot,
	worker *gardencorev1beta1.Worker, now time.Time) (string, error) {
	images := profile.Spec.MachineImages
	i := slices.IndexFunc(images, func(offered gardencorev1beta1.MachineImage) bool {
		return offered.Name == worker.Machine.Image.Name
	})
	if i < 0 {
		return "", fmt.Errorf("the CloudProfile has no machine image %q", worker.Machine.Image.Name)
	}
	pool := image.Pool{Worker: worker, Capabilities: profile.Spec.MachineCapabilities}
	if number, err := version.Parse(worker.KubernetesVersion(shoot)); err == nil {
		pool.Kubelet = number
	}
	for t := range profile.Spec.MachineTypes {
		if profile.Spec.MachineTypes[t].Name == worker.Machine.Type {
			pool.MachineType = &profile.Spec.MachineTypes[t]
		}
	}
	fits := func(v gardencorev1beta1.MachineImageVersion) bool {
		// A new pool has nothing that could be updated in place: each version is judged as the one it begins with.
		candidate := worker.DeepCopy()
		candidate.Machine.Image.Version = &v.Version
		at := pool
		at.Worker = candidate
		return at.Misfit(v) == ""
	}
	return versionrules.CompleteImage(&images[i], ptr.Deref(worker.Machine.Image.Version, ""), fits, now)
}

// setInWorker writes a string into a worker pool as it is on the wire.
func setInWorker(object *unstructured.Unstructured, i int, value string, fields ...string) error {
	workers, _, err := unstructured.NestedSlice(object.Object, "spec", "provider", "workers")
	if err != nil || i >= len(workers) {
		return fmt.Errorf("read worker pool %d of the shoot: %w", i, err)
	}
	worker, ok := workers[i].(map[string]any)
	if !ok {
		return fmt.Errorf("read worker pool %d of the shoot: it is no object", i)
	}
	if err := unstructured.SetNestedField(worker, value, fields...); err != nil {
		return err
	}
	return unstructured.SetNestedSlice(object.Object, workers, "spec", "provider", "workers")
}
