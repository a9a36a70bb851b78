package refusals

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
)

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "garden-p", Name: name, Labels: map[string]string{"transplant.dev/shoot": "s"}}
}

func TestKnown_WhatARestoreNeedsChanges_RefusalIsForgotten(t *testing.T) {
	t.Parallel()
	why := errors.New("missing are the backups")
	for name, c := range map[string]struct {
		change func(client.Client, *gardencorev1beta1.Shoot) error
		known  bool
	}{
		"nothing": {func(client.Client, *gardencorev1beta1.Shoot) error { return nil }, true},
		"the status of the shoot": {func(_ client.Client, s *gardencorev1beta1.Shoot) error {
			s.ResourceVersion = "2"
			return nil
		}, true},
		"the shoot": {func(_ client.Client, s *gardencorev1beta1.Shoot) error {
			s.Generation++
			return nil
		}, false},
		"a state": {func(c client.Client, _ *gardencorev1beta1.Shoot) error {
			return c.Create(t.Context(), &gardencorev1beta1.ShootState{ObjectMeta: named("s")})
		}, false},
		"a chunk": {func(c client.Client, _ *gardencorev1beta1.Shoot) error {
			return c.Create(t.Context(), &transplantv1alpha1.ShootStateChunk{ObjectMeta: named("s-chunk")})
		}, false},
		"a backup entry": {func(c client.Client, _ *gardencorev1beta1.Shoot) error {
			return c.Create(t.Context(), &gardencorev1beta1.BackupEntry{ObjectMeta: named("shoot--p--s--uid")})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := runtime.NewScheme()
			if err := errors.Join(gardencorev1beta1.AddToScheme(scheme), transplantv1alpha1.AddToScheme(scheme)); err != nil {
				t.Fatal(err)
			}
			cached := fake.NewClientBuilder().WithScheme(scheme).Build()
			shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "s", UID: "uid"}}
			shoot.Status.TechnicalID, shoot.Status.UID = "shoot--p--s", "uid"
			r, now := &Refusals{Cached: cached, AtMost: time.Minute}, time.Unix(1000, 0)
			if got := r.Known(t.Context(), shoot, now); got != nil {
				t.Fatalf("refused before it was read: %v", got)
			}
			r.Note(shoot, r.Versions(t.Context(), shoot), why, now)
			if err := c.change(cached, shoot); err != nil {
				t.Fatal(err)
			}
			if got := r.Known(t.Context(), shoot, now.Add(59*time.Second)); (got != nil) != c.known {
				t.Errorf("known: %v, want it: %t", got, c.known)
			}
		})
	}
}

func TestKnown_ManyRefusalsAreOld_OneOfThemIsForgottenInEachPass(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := errors.Join(gardencorev1beta1.AddToScheme(scheme), transplantv1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	r := &Refusals{Cached: fake.NewClientBuilder().WithScheme(scheme).Build(), AtMost: time.Minute}
	now := time.Unix(1000, 0)
	shoots := []*gardencorev1beta1.Shoot{{}, {}, {}}
	for i, shoot := range shoots {
		shoot.Namespace, shoot.Name = "garden-p", string(rune('a'+i))
		r.Note(shoot, r.Versions(t.Context(), shoot), errors.New("why"), now)
	}
	now = now.Add(time.Minute)
	for pass := range shoots {
		r.Begin()
		for i, shoot := range shoots {
			forgotten := r.Known(t.Context(), shoot, now) == nil
			if forgotten != (i == pass) {
				t.Errorf("pass %d, shoot %d: forgotten %t", pass, i, forgotten)
			}
			if forgotten {
				r.Note(shoot, r.Versions(t.Context(), shoot), errors.New("why"), now)
			}
		}
	}
}

func TestForget_ShootIsGone_NothingIsKept(t *testing.T) {
	t.Parallel()
	r, shoot := &Refusals{}, &gardencorev1beta1.Shoot{ObjectMeta: named("s")}
	r.Forget(client.ObjectKeyFromObject(shoot))
	r.Note(shoot, "1", errors.New("why"), time.Unix(1000, 0))
	if r.Forget(client.ObjectKeyFromObject(shoot)); len(r.all) > 0 {
		t.Errorf("kept %v", r.all)
	}
}
