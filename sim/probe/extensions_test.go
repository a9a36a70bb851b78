package probe_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// What extensions bring is told when it comes, changes and goes; what else lies beside it is not.
func TestWhatExtensionsBringIsRecorded(t *testing.T) {
	t.Parallel()
	_, _, connect := ready(t, 0)
	c, ctx, j := clientOf(t, connect), t.Context(), journal()
	extensions := &probe.Extensions{Shoot: "alpha", Connect: connect}
	var last []timeline.ExtensionSeen
	sample := func() []string {
		t.Helper()
		before := len(j.Events())
		if err := extensions.Sample(ctx, j); err != nil {
			t.Fatal(err)
		}
		last = nil
		names := []string{}
		for _, e := range timeline.Of[timeline.ExtensionSeen](j.Events()[before:]) {
			last, names = append(last, e), append(names, e.Name)
		}
		return names
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if first := sample(); len(first) != 0 || extensions.Known() != 0 {
		t.Errorf("at first %q", first)
	}
	system := c.CoreV1().ConfigMaps("kube-system")
	for _, name := range []string{"extension-x", "extension-apiserver-authentication", "others"} {
		_, err := system.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: "u"}, Data: map[string]string{"a": "1"}}, metav1.CreateOptions{})
		must(err)
	}
	_, err := c.NodeV1().RuntimeClasses().Create(ctx, &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "x-pool"}, Handler: "x"}, metav1.CreateOptions{})
	must(err)
	if diff := cmp.Diff([]string{"ConfigMap extension-x", "RuntimeClass x-pool"}, sample()); diff != "" || extensions.Known() != 2 {
		t.Errorf("it comes (-want +got):\n%s", diff)
	}
	held := last[0]
	if held.UID == "" || held.Holds == "" {
		t.Errorf("it is told as %+v", held)
	}
	if again := sample(); len(again) != 0 {
		t.Errorf("without a change %q", again)
	}
	_, err = system.Patch(ctx, "extension-x", types.MergePatchType, []byte(`{"data":{"a":"2"}}`), metav1.PatchOptions{})
	must(err)
	if names := sample(); len(names) != 1 || last[0].Holds == held.Holds {
		t.Errorf("it says something else: %q, %+v", names, last)
	}
	must(c.NodeV1().RuntimeClasses().Delete(ctx, "x-pool", metav1.DeleteOptions{}))
	sample()
	if diff := cmp.Diff([]timeline.ExtensionSeen{{Name: "RuntimeClass x-pool", Gone: true}}, last, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("it goes (-want +got):\n%s", diff)
	}
}
