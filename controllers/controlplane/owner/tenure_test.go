package owner

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

func TestSurvey(t *testing.T) {
	t.Parallel()
	away := errors.New("the seed is away")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "shoot--p--alpha", Annotations: map[string]string{"transplant.dev/epoch": "4"},
	}}
	etcd := tenure.Etcd{Exists: true, Epoch: 3, Runs: true}
	for name, c := range map[string]struct {
		onSeed []client.Object
		unread string // name of the object that cannot be read
		want   tenure.Tenure
		says   string
	}{
		"nothing is here": {},
		"only the namespace is here": {
			onSeed: []client.Object{namespace}, want: tenure.Tenure{Epoch: 4, Phase: tenure.Claimed},
		},
		"only etcd is here": {onSeed: []client.Object{controlplanetest.EtcdOf("3")},
			want: tenure.Tenure{Etcd: etcd}},
		"both are here": {
			onSeed: []client.Object{namespace, controlplanetest.EtcdOf("3")},
			want:   tenure.Tenure{Epoch: 4, Phase: tenure.Claimed, Etcd: etcd},
		},
		"etcd cannot be read":          {unread: "etcd-main", says: "read etcd"},
		"the namespace cannot be read": {unread: "shoot--p--alpha", says: `read namespace "shoot--p--alpha"`},
		"etcd's epoch cannot be read": {onSeed: []client.Object{namespace, controlplanetest.EtcdOf("")},
			says: "transplant.dev/epoch"},
	} {
		o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeMigrate, interceptor.Funcs{
			Get: func(
				ctx context.Context, seed client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption,
			) error {
				if key.Name == c.unread {
					return away
				}
				return seed.Get(ctx, key, object, options...)
			},
		}, c.onSeed...))
		got, err := o.Survey(t.Context())
		asWanted := err == nil && c.says == "" || err != nil && c.says != "" && strings.Contains(err.Error(), c.says)
		if asWanted && err == nil {
			asWanted = got.Tenure == c.want
		}
		if !asWanted || errors.Is(err, away) != (c.unread != "") {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}
