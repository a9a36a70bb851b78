package owner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

// What is not a restore takes a shoot from nobody who exists, whatever a garden that went back to a backup says.
func TestRefuseForeign(t *testing.T) {
	t.Parallel()
	seedB := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: types.UID("uid-b")}}
	for name, c := range map[string]struct {
		record  ownership.Record
		down    bool
		refused string
	}{
		"nobody has ever owned it":      {},
		"its own":                       {record: controlplanetest.Owned("uid-a", 3)},
		"of a deleted shoot":            {record: controlplanetest.Owned(ownership.Nobody, 4)},
		"of a seed that is no more":     {record: controlplanetest.Owned("uid-c", 5)},
		"of the seed's own former self": {record: ownership.Record{Owner: "uid-a-before", Epoch: 2, Seed: "a"}},
		"another's": {record: controlplanetest.Owned("uid-b", 6),
			refused: `seed "b"'s, by its record in DNS with epoch 6`},
		"of a place outside any seed": {record: ownership.Record{Owner: "uid-o", Epoch: 6, Seed: "outside"},
			refused: "runs outside any seed, by its record in DNS with epoch 6"},
		"nobody knows: DNS is down": {record: controlplanetest.Owned("uid-a", 3), down: true,
			refused: "ask who owns the shoot"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onA, owners := controlplanetest.OnSeedA(t, gardencorev1beta1.LastOperationTypeReconcile,
				[]client.Object{controlplanetest.SeedA(), seedB},
				interceptor.Funcs{})
			o := New(onA)
			if !c.record.Absent() {
				owners.DNS.Set(c.record)
			}
			owners.DNS.Down(c.down)
			err := (&Survey{o: o}).refuseForeign(t.Context())
			if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("got %v, want %q", err, c.refused)
			}
		})
	}
}

// savedStates has one state, or the error of reading it.
type savedStates struct {
	scope.States
	err error
}

func (s savedStates) Load(context.Context, client.ObjectKey) (*shootstate.State, error) {
	if s.err != nil {
		return nil, s.err
	}
	return &shootstate.State{}, nil
}

func TestMisplaced(t *testing.T) {
	t.Parallel()
	none := apierrors.NewNotFound(schema.GroupResource{Resource: "shootstates"}, "alpha")
	unread := errors.New("the garden is away")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}}
	etcd := controlplanetest.EtcdOf("4")
	seedB := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "uid-b"}}
	for name, c := range map[string]struct {
		onSeed []client.Object
		owner  string // in DNS
		dying  bool
		state  error
		want   bool
		err    error
		// foreign: it is a ForeignError
		foreign bool
	}{
		"another has it, the garden is older": {owner: "uid-b", foreign: true},
		"another, who is no more, has it":     {owner: "uid-c", want: true},
		"the same in deletion":                {owner: "uid-b", dying: true, foreign: true},
		"it is here":                          {onSeed: []client.Object{namespace, etcd}},
		"etcd is gone":                        {onSeed: []client.Object{namespace}, want: true},
		"all is gone":                         {want: true},
		"the garden is not asked":             {state: unread, want: true},
		"in deletion, it is here":             {onSeed: []client.Object{namespace, etcd}, dying: true},
		"in deletion, past etcd":              {onSeed: []client.Object{namespace}, dying: true},
		"in deletion, past all":               {dying: true, state: none},
		"in deletion, on a seed built anew":   {dying: true, want: true},
		"in deletion, the same, its state damaged": {dying: true, state: &shootstate.DamagedError{Part: "chunk"},
			want: true},
		"in deletion, nobody knows whether it is so": {dying: true, state: unread, err: unread},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onA, owners := controlplanetest.OnSeedA(t, gardencorev1beta1.LastOperationTypeReconcile,
				[]client.Object{controlplanetest.SeedA(), seedB.DeepCopy()}, interceptor.Funcs{}, c.onSeed...)
			if c.owner != "" {
				owners.DNS.Set(controlplanetest.Owned(c.owner, 5))
			}
			o := New(onA)
			o.States = savedStates{err: c.state}
			if c.dying {
				o.Shoot.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
			}
			got, err := o.Misplaced(t.Context())
			foreign, is := errors.AsType[*ForeignError](err)
			if is != c.foreign || is && (foreign.Seed != "b" || foreign.Epoch != 5) {
				t.Errorf("got %v, want a ForeignError: %t", err, c.foreign)
			}
			if got != c.want || !is && !errors.Is(err, c.err) {
				t.Errorf("got %t, %v; want %t, %v", got, err, c.want, c.err)
			}
		})
	}
}
