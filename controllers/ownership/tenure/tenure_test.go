package tenure

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func namespaceWith(annotations map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: annotations}}
}

func etcdWith(replicas *int32, annotations map[string]string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "etcd-main", Annotations: annotations},
		Spec:       appsv1.StatefulSetSpec{Replicas: replicas},
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	of4 := map[string]string{"transplant.dev/epoch": "4"}
	running := Etcd{Exists: true, Epoch: 4, Runs: true}
	for name, c := range map[string]struct {
		namespace *corev1.Namespace
		etcd      *appsv1.StatefulSet
		want      Tenure
	}{
		"nothing is here":      {},
		"an empty namespace":   {namespace: namespaceWith(nil), want: Tenure{Namespace: true}},
		"claimed":              {namespace: namespaceWith(of4), want: Tenure{Namespace: true, Epoch: 4}},
		"etcd runs":            {etcd: etcdWith(ptr.To[int32](1), of4), want: Tenure{Etcd: running}},
		"etcd runs by default": {etcd: etcdWith(nil, of4), want: Tenure{Etcd: running}},
		"hibernated":           {etcd: etcdWith(ptr.To[int32](0), of4), want: Tenure{Etcd: Etcd{Exists: true, Epoch: 4}}},
		"the epoch was taken off the namespace": {
			namespace: namespaceWith(map[string]string{"transplant.dev/begun-epoch": "4"}),
			want:      Tenure{Namespace: true, BegunEpoch: 4},
		},
		"everything is noted": {
			namespace: namespaceWith(map[string]string{
				"transplant.dev/epoch": "7", "transplant.dev/begun-epoch": "6", "transplant.dev/ended-epoch": "5",
			}),
			etcd: etcdWith(nil, of4),
			want: Tenure{Namespace: true, Epoch: 7, BegunEpoch: 6, EndedEpoch: 5, Etcd: running},
		},
	} {
		if got, err := Of(c.namespace, c.etcd); err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

func TestOf_EpochIsNoNumber_NamesTheAnnotation(t *testing.T) {
	t.Parallel()
	const ofNamespace = `namespace "n": read annotation transplant.dev/`
	const ofEtcd = `statefulset "n/etcd-main": read annotation transplant.dev/`
	noted := func(annotation, value string) *corev1.Namespace {
		return namespaceWith(map[string]string{"transplant.dev/" + annotation: value})
	}
	for name, c := range map[string]struct {
		namespace *corev1.Namespace
		etcd      *appsv1.StatefulSet
		want      string
	}{
		"epoch":       {namespace: noted("epoch", "four"), want: ofNamespace + "epoch: "},
		"epoch empty": {namespace: noted("epoch", ""), want: ofNamespace + "epoch: "},
		"begun":       {namespace: noted("begun-epoch", "4.0"), want: ofNamespace + "begun-epoch: "},
		"ended":       {namespace: noted("ended-epoch", "x4"), want: ofNamespace + "ended-epoch: "},
		"etcd": {
			etcd: etcdWith(nil, map[string]string{"transplant.dev/epoch": "four"}), want: ofEtcd + "epoch: ",
		},
		"etcd has none": {etcd: etcdWith(nil, nil), want: ofEtcd + "epoch: "},
	} {
		got, err := Of(c.namespace, c.etcd)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || got != (Tenure{}) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

// Whether an epoch has begun is known when its etcd is gone, too: there may be what no backup has.
func TestBegun(t *testing.T) {
	t.Parallel()
	runs := func(epoch int64) Etcd { return Etcd{Exists: true, Epoch: epoch, Runs: true} }
	hibernated := func(epoch int64) Etcd { return Etcd{Exists: true, Epoch: epoch} }
	for name, c := range map[string]struct {
		here     Tenure
		wakeable bool
		want     bool
	}{
		"its etcd runs":                        {here: Tenure{Epoch: 4, Etcd: runs(4)}, want: true},
		"that of a newer epoch runs":           {here: Tenure{Epoch: 4, Etcd: runs(5)}, want: true},
		"that of an older epoch runs":          {here: Tenure{Epoch: 4, Etcd: runs(3), BegunEpoch: 3}, wakeable: true},
		"that of an older epoch runs, noted":   {here: Tenure{Epoch: 4, Etcd: runs(3), BegunEpoch: 4}, want: true},
		"hibernated, nobody can wake it":       {here: Tenure{Epoch: 4, Etcd: hibernated(4)}},
		"hibernated, with its API server":      {here: Tenure{Epoch: 4, Etcd: hibernated(4)}, wakeable: true, want: true},
		"hibernated, and has run":              {here: Tenure{Epoch: 4, Etcd: hibernated(4), BegunEpoch: 4}, want: true},
		"hibernated since an older epoch":      {here: Tenure{Epoch: 4, Etcd: hibernated(3), BegunEpoch: 3}, wakeable: true},
		"its etcd is gone":                     {here: Tenure{Epoch: 4, BegunEpoch: 4}, want: true},
		"no etcd was ever here":                {here: Tenure{Epoch: 4}},
		"no etcd was ever here, an API server": {here: Tenure{Epoch: 4}, wakeable: true},
		"ended, not begun":                     {here: Tenure{Epoch: 4, EndedEpoch: 4}},
		"the namespace says no epoch":          {want: true},
	} {
		if got := c.here.Begun(c.wakeable); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
