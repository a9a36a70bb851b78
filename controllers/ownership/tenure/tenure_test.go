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

// noted is a namespace with an epoch and its phase.
func noted(epoch, phase string) *corev1.Namespace {
	return namespaceWith(map[string]string{"transplant.dev/epoch": epoch, "transplant.dev/phase": phase})
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
		"an empty namespace":   {namespace: namespaceWith(nil), want: Tenure{Phase: Abandoned}},
		"epoch zero":           {namespace: noted("0", "Begun"), want: Tenure{Phase: Abandoned}},
		"etcd runs":            {etcd: etcdWith(ptr.To[int32](1), of4), want: Tenure{Etcd: running}},
		"etcd runs by default": {etcd: etcdWith(nil, of4), want: Tenure{Etcd: running}},
		"hibernated":           {etcd: etcdWith(ptr.To[int32](0), of4), want: Tenure{Etcd: Etcd{Exists: true, Epoch: 4}}},
		"the epoch was taken off the namespace": {
			namespace: namespaceWith(map[string]string{"transplant.dev/phase": "Begun"}),
			want:      Tenure{Phase: Abandoned},
		},
		"claimed": {namespace: noted("4", "Claimed"), want: Tenure{Epoch: 4, Phase: Claimed}},
		"claimed, over etcd of an epoch before": {
			namespace: noted("5", "Claimed"), etcd: etcdWith(nil, of4),
			want: Tenure{Epoch: 5, Phase: Claimed, Etcd: running},
		},
		"deployed": {namespace: noted("4", "Deployed"), want: Tenure{Epoch: 4, Phase: Deployed}},
		"deployed, not noted": {
			namespace: noted("4", "Claimed"), etcd: etcdWith(ptr.To[int32](0), of4),
			want: Tenure{Epoch: 4, Phase: Deployed, Etcd: Etcd{Exists: true, Epoch: 4}},
		},
		"begun, its etcd is gone": {namespace: noted("4", "Begun"), want: Tenure{Epoch: 4, Phase: Begun}},
		"begun, hibernated": {
			namespace: noted("4", "Begun"), etcd: etcdWith(ptr.To[int32](0), of4),
			want: Tenure{Epoch: 4, Phase: Begun, Etcd: Etcd{Exists: true, Epoch: 4}},
		},
		"begun, not noted": {
			namespace: noted("4", "Claimed"), etcd: etcdWith(nil, of4),
			want: Tenure{Epoch: 4, Phase: Begun, Etcd: running},
		},
		"begun, deployed is noted": {
			namespace: noted("4", "Deployed"), etcd: etcdWith(nil, of4),
			want: Tenure{Epoch: 4, Phase: Begun, Etcd: running},
		},
		"etcd of a newer epoch runs": {
			namespace: noted("3", "Claimed"), etcd: etcdWith(nil, of4),
			want: Tenure{Epoch: 3, Phase: Begun, Etcd: running},
		},
		"ended, etcd runs on": {
			namespace: noted("4", "Ended"), etcd: etcdWith(nil, of4), want: Tenure{Epoch: 4, Phase: Ended, Etcd: running},
		},
		"saved": {
			namespace: noted("4", "Saved"), etcd: etcdWith(nil, of4), want: Tenure{Epoch: 4, Phase: Saved, Etcd: running},
		},
	} {
		if got, err := Of(c.namespace, c.etcd); err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

// A namespace that a build before the phase has written notes the last epochs that have begun and ended. Where the
// phase is, they count no more.
func TestOf_NamespaceOfAnOlderBuild_HasItsPhase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begun, ended, phase string
		want                Phase
	}{
		"claimed":                              {want: Claimed},
		"claimed, and one before has begun":    {begun: "3", want: Claimed},
		"claimed, and one before has ended":    {begun: "3", ended: "3", want: Claimed},
		"begun":                                {begun: "4", want: Begun},
		"begun, and one before has ended":      {begun: "4", ended: "3", want: Begun},
		"a newer one has begun":                {begun: "5", want: Begun},
		"begun and ended":                      {begun: "4", ended: "4", want: Ended},
		"ended, not begun":                     {ended: "4", want: Saved},
		"ended, and only one before has begun": {begun: "3", ended: "4", want: Saved},
		"the phase is there":                   {begun: "4", ended: "4", phase: "Claimed", want: Claimed},
		"they cannot be read, the phase can":   {begun: "x", ended: "x", phase: "Begun", want: Begun},
	} {
		annotations := map[string]string{"transplant.dev/epoch": "4"}
		for annotation, value := range map[string]string{
			"transplant.dev/begun-epoch": c.begun, "transplant.dev/ended-epoch": c.ended, "transplant.dev/phase": c.phase,
		} {
			if value != "" {
				annotations[annotation] = value
			}
		}
		if got, err := Of(namespaceWith(annotations), nil); err != nil || got != (Tenure{Epoch: 4, Phase: c.want}) {
			t.Errorf("%s: got %+v, %v; want %s", name, got, err, c.want)
		}
	}
}

func TestOf_EpochOrPhaseCannotBeRead_NamesTheAnnotation(t *testing.T) {
	t.Parallel()
	const ofNamespace = `namespace "n": read annotation transplant.dev/`
	const ofEtcd = `statefulset "n/etcd-main": read annotation transplant.dev/`
	with := func(annotation, value string) *corev1.Namespace {
		return namespaceWith(map[string]string{"transplant.dev/epoch": "4", "transplant.dev/" + annotation: value})
	}
	for name, c := range map[string]struct {
		namespace *corev1.Namespace
		etcd      *appsv1.StatefulSet
		want      string
	}{
		"epoch":       {namespace: with("epoch", "four"), want: ofNamespace + "epoch: "},
		"epoch empty": {namespace: with("epoch", ""), want: ofNamespace + "epoch: "},
		"begun":       {namespace: with("begun-epoch", "4.0"), want: ofNamespace + "begun-epoch: "},
		"ended":       {namespace: with("ended-epoch", "x4"), want: ofNamespace + "ended-epoch: "},
		"phase":       {namespace: with("phase", "begun"), want: ofNamespace + `phase: there is no phase "begun"`},
		"phase empty": {namespace: with("phase", ""), want: ofNamespace + `phase: there is no phase ""`},
		"none":        {namespace: with("phase", "None"), want: ofNamespace + `phase: there is no phase "None"`},
		"abandoned":   {namespace: with("phase", "Abandoned"), want: ofNamespace + `phase: there is no phase "Abandoned"`},
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
