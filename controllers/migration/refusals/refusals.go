// Package refusals remembers of which shoots the garden lacks what a restore needs. Reading that takes several requests
// for each shoot, so it is not read again while watches show no change of it. What is needed is package migration's to
// know.
package refusals

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

// Refusals are those shoots. The zero value has none.
type Refusals struct {
	// Cached is what watches have shown of the garden.
	Cached client.Reader
	// AtMost is how long a refusal is believed that no watch contradicts; zero is for ever, for who reads in turn.
	AtMost time.Duration

	all     map[client.ObjectKey]refusal
	renewed bool // one was forgotten since Begin because of its age
}

type refusal struct {
	of  string // the versions of what was read
	why error
	at  time.Time
}

// Begin begins a pass over all shoots.
func (r *Refusals) Begin() { r.renewed = false }

// Note notes that the garden was read and lacks something. of are the Versions from before it was read.
func (r *Refusals) Note(shoot *gardencorev1beta1.Shoot, of string, why error, now time.Time) {
	if r.all == nil {
		r.all = map[client.ObjectKey]refusal{}
	}
	r.all[client.ObjectKeyFromObject(shoot)] = refusal{of: of, why: why, at: now}
}

// Forget forgets a shoot that is gone, or restored.
func (r *Refusals) Forget(shoot client.ObjectKey) { delete(r.all, shoot) }

// Known is why the shoot was refused; nil if the garden is to be read. In each pass, one whose refusal is too old is
// read again, whatever watches show: so the fallback costs the same however many shoots are refused.
func (r *Refusals) Known(ctx context.Context, shoot *gardencorev1beta1.Shoot, now time.Time) error {
	last, is := r.all[client.ObjectKeyFromObject(shoot)]
	old := is && r.AtMost > 0 && !r.renewed && now.Sub(last.at) >= r.AtMost
	r.renewed = r.renewed || old
	if !is || old || last.of == "" || last.of != r.Versions(ctx, shoot) {
		return nil
	}
	return last.why
}

// Versions identify what a restore needs of the garden, as watches have shown it; empty if that cannot be said.
func (r *Refusals) Versions(ctx context.Context, shoot *gardencorev1beta1.Shoot) string {
	state, chunks := &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadataList{}
	state.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind("ShootState"))
	chunks.SetGroupVersionKind(transplantv1alpha1.SchemeGroupVersion.WithKind("ShootStateChunkList"))
	entry := &gardencorev1beta1.BackupEntry{}
	named := client.ObjectKey{Namespace: shoot.Namespace, Name: scope.BackupEntryName(shoot)}
	if err := errors.Join(
		client.IgnoreNotFound(r.Cached.Get(ctx, client.ObjectKeyFromObject(shoot), state)),
		client.IgnoreNotFound(r.Cached.Get(ctx, named, entry)),
		r.Cached.List(ctx, chunks, client.InNamespace(shoot.Namespace),
			client.MatchingLabels{transplantv1alpha1.LabelShoot: shoot.Name}),
	); err != nil {
		return ""
	}
	all := fmt.Sprint(shoot.UID, shoot.Generation, state.ResourceVersion, entry.ResourceVersion)
	for _, chunk := range chunks.Items {
		all += " " + chunk.Name + " " + chunk.ResourceVersion
	}
	return all
}
