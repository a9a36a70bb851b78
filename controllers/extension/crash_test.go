package extension

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
	"github.com/transplant-sim/transplant/controllers/extension/fence"
)

// knife cuts a process off at its n-th write, to the seed or to the cloud: before the write takes effect, or after it
// but before the answer arrives. From then on nothing of that process gets through.
type knife struct {
	at    int64
	late  bool
	count atomic.Int64
}

// stroke says of one write whether it is lost, and whether its answer is.
func (k *knife) stroke() (lost, unanswered bool) {
	n := k.count.Add(1)
	switch {
	case n < k.at:
		return false, false
	case n == k.at && k.late:
		return false, true
	}
	return true, true
}

func (k *knife) hit() bool { return k.count.Load() >= k.at }

// wield puts the knife between the process and the world.
func (k *knife) wield(b *bench) {
	b.mu.Lock()
	b.cut = func(string) (before, after error) {
		lost, unanswered := k.stroke()
		if lost {
			return errCut, nil
		}
		if unanswered {
			return nil, errCut
		}
		return nil, nil
	}
	b.mu.Unlock()
	config := b.cloud.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return cutTransport{k, next} })
	client, err := fence.Guarded(config)
	if err != nil {
		b.t.Fatal(err)
	}
	b.provider.Cloud = client
}

type cutTransport struct {
	knife *knife
	next  http.RoundTripper
}

func (t cutTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return t.next.RoundTrip(r)
	}
	lost, unanswered := t.knife.stroke()
	if lost {
		return nil, errCut
	}
	answer, err := t.next.RoundTrip(r)
	if unanswered && err == nil {
		_ = answer.Body.Close()
		return nil, errCut
	}
	return answer, err
}

// act is what is asked of an object, on a seed where everything is ready for it.
type act struct {
	name  string
	ready func(t *testing.T, c *cloudtest.Cloud, fresh func() extensionsv1alpha1.Object) (*bench,
		extensionsv1alpha1.Object)
}

func acts() []act {
	request := func(operation string) func(*testing.T, *cloudtest.Cloud, func() extensionsv1alpha1.Object) (*bench,
		extensionsv1alpha1.Object) {
		return func(t *testing.T, c *cloudtest.Cloud, fresh func() extensionsv1alpha1.Object) (*bench,
			extensionsv1alpha1.Object) {
			o := fresh()
			b := reconciled(t, c, o)
			b.annotate(o, operation)
			return b, o
		}
	}
	return []act{
		{"create", func(t *testing.T, c *cloudtest.Cloud, fresh func() extensionsv1alpha1.Object) (*bench,
			extensionsv1alpha1.Object) {
			b, o := newBench(t, "a", c, 1), fresh()
			b.create(o)
			b.annotate(o, "reconcile")
			return b, o
		}},
		{"reconcile", request("reconcile")},
		{"migrate", request("migrate")},
		{"restore", func(t *testing.T, c *cloudtest.Cloud, fresh func() extensionsv1alpha1.Object) (*bench,
			extensionsv1alpha1.Object) {
			o := fresh()
			a := reconciled(t, c, o)
			a.ask(o, "migrate")
			b, there := moved(t, a, o, fresh)
			b.annotate(there, "restore")
			return b, there
		}},
		{"delete", func(t *testing.T, c *cloudtest.Cloud, fresh func() extensionsv1alpha1.Object) (*bench,
			extensionsv1alpha1.Object) {
			o := fresh()
			b := reconciled(t, c, o)
			b.delete(o)
			return b, o
		}},
	}
}

// TestB17CrashAnywhere: a process that is cut off at any write, and started again, ends where an undisturbed one ends.
func TestB17CrashAnywhere(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, fresh func() extensionsv1alpha1.Object) {
		for _, a := range acts() {
			t.Run(a.name, func(t *testing.T) {
				c := cloudtest.NewLandscape(t)
				b, o := a.ready(t, c, fresh)
				never := &knife{at: 1 << 40}
				never.wield(b)
				b.settle(o)
				want := picture(t, b, c)
				for at := range never.count.Load() {
					for _, late := range []bool{false, true} {
						crashed(t, a, fresh, &knife{at: at + 1, late: late}, want)
					}
				}
			})
		}
	})
}

func crashed(t *testing.T, a act, fresh func() extensionsv1alpha1.Object, k *knife, want map[string]string) {
	t.Helper()
	c := cloudtest.NewLandscape(t)
	b, o := a.ready(t, c, fresh)
	k.wield(b)
	for range 20 {
		if _, err := b.once(o); k.hit() || err != nil {
			break
		}
		b.machineController()
	}
	if !k.hit() {
		t.Fatalf("write %d was never made", k.at)
	}
	b.mu.Lock()
	b.cut = nil
	b.mu.Unlock()
	b.restart()
	b.settle(o)
	if diff := cmp.Diff(want, picture(t, b, c)); diff != "" {
		t.Errorf("cut off at write %d (answer lost: %t), it ends elsewhere: %s", k.at, k.late, diff)
	}
}

// picture is all there is in the seed and in the cloud, without what is never the same twice.
func picture(t *testing.T, b *bench, c *cloudtest.Cloud) map[string]string {
	t.Helper()
	seen := map[string]string{}
	counts := map[string]int{}
	for _, id := range c.IDs() {
		kind, _, _ := strings.Cut(id, "/")
		counts[kind]++
	}
	for kind, n := range counts {
		seen["cloud "+kind] = fmt.Sprint(n)
	}
	lists := []client.ObjectList{
		&corev1.SecretList{}, &corev1.ConfigMapList{}, &resourcesv1alpha1.ManagedResourceList{},
		&machinev1alpha1.MachineDeploymentList{},
		&machinev1alpha1.MachineClassList{}, &machinev1alpha1.MachineSetList{}, &machinev1alpha1.MachineList{},
	}
	for _, kind := range extensionsv1alpha1.Kinds() {
		lists = append(lists, kind.NewList().(client.ObjectList))
	}
	for _, list := range lists {
		if err := b.base.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			o := item.(client.Object)
			o.SetResourceVersion("")
			data, err := json.Marshal(o)
			seen[fmt.Sprintf("%T %s/%s", o, o.GetNamespace(), o.GetName())] = blur(string(data))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return seen
}

// volatile are times, ids of the cloud, and what is generated at random.
var volatile = []*regexp.Regexp{
	regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`),
	regexp.MustCompile(`(net|sub|rou|sec|key|zon|mac)-\d{4}`),
	regexp.MustCompile(`203\.0\.113\.\d+`),
	regexp.MustCompile(`"(ca\.crt|ca\.key|tls\.crt|tls\.key|ca\.yaml|token|configmap\.yaml)":"[^"]*"`),
	regexp.MustCompile(`"tokenDigest":"[0-9a-f]*"`),
}

func blur(text string) string {
	for _, v := range volatile {
		text = v.ReplaceAllString(text, "*")
	}
	return text
}

// TestPictureSees: the comparison that the crash test rests on notices a difference in the seed and in the cloud.
func TestPictureSees(t *testing.T) {
	t.Parallel()
	c := cloudtest.NewLandscape(t)
	o := infrastructureObject()
	b := reconciled(t, c, o)
	before := picture(t, b, c)
	b.changeStatus(o, func() { o.Status.State = nil })
	c.PutObject("bucket-a", "x")
	after := picture(t, b, c)
	var differs []string
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if before[key] != after[key] {
			differs = append(differs, key)
		}
	}
	want := []string{"*v1alpha1.Infrastructure " + technicalID + "/alpha", "cloud objects"}
	if diff := cmp.Diff(want, differs); diff != "" {
		t.Error(diff)
	}
}
