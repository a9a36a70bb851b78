package diagnosis

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	testingclock "k8s.io/utils/clock/testing"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/sim/landscape"
)

type object = map[string]any

func request(kind, of, name string, status object) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{
		"apiVersion": extensionsv1alpha1.SchemeGroupVersion.String(), "kind": kind,
		"metadata": object{"namespace": "shoot--p--alpha", "name": name, "uid": kind + name},
		"spec":     object{"type": of}, "status": status,
	}}
}

func operation(state string) object {
	return object{"type": "Create", "state": state, "progress": int64(50), "description": "at work",
		"lastUpdateTime": "2026-01-02T12:00:00Z"}
}

// seed with what extensions are asked for on it, and a patience of a minute.
func seedWith(c *testingclock.FakeClock, objects ...runtime.Object) (*Requests, *fake.FakeDynamicClient) {
	kinds := map[schema.GroupVersionResource]string{}
	for _, kind := range extensionsv1alpha1.Kinds() {
		kinds[extensionsv1alpha1.SchemeGroupVersion.WithResource(kind.Resource)] = kind.Name + "List"
	}
	api := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
	own := []landscape.Extension{{Name: "acme",
		Resources: []landscape.ExtensionResource{{Kind: "Extension", Type: "vault"},
			{Kind: "Infrastructure", Type: "transplant"}}}}
	return &Requests{Seed: "a", Extensions: own, API: api, Clock: c, Patience: time.Minute}, api
}

func look(t *testing.T, r *Requests) []Finding {
	t.Helper()
	found, err := r.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestRequests_NobodyAnswers_IsHopelessAfterAPartOfThePatience(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, of, who, blame string }{
		{"Extension", "vault",
			"the extension acme never answered on seed a: Extension shoot--p--alpha/x of type vault waits for it, without " +
				"any answer for 10s", "a finding about the extension acme"},
		{"Infrastructure", "transplant", "the extension acme never answered on seed a", "a finding about the extension acme"},
		{"Worker", "transplant", "the actor extensions-a never answered on seed a: Worker shoot--p--alpha/x",
			"an error of the set-up"},
		{"Extension", "nobodys",
			"an extension that nobody has brought never answered on seed a: Extension shoot--p--alpha/x of type nobodys",
			"an error of the set-up"},
	} {
		t.Run(c.kind+" "+c.of, func(t *testing.T) {
			t.Parallel()
			now := testingclock.NewFakeClock(noon)
			r, _ := seedWith(now, request(c.kind, c.of, "x", nil))
			if found := look(t, r); len(found) != 1 || found[0].State != Suspect {
				t.Fatalf("at first: %v", found)
			}
			now.Step(9 * time.Second)
			if found := look(t, r); len(found) != 1 || found[0].State != Suspect {
				t.Fatalf("after 9 s: %v", found)
			}
			now.Step(time.Second)
			found := look(t, r)
			if len(found) != 1 || found[0].State != Silent {
				t.Fatalf("after 10 s: %v", found)
			}
			for _, want := range []string{c.who, c.blame} {
				if text := found[0].String(); !strings.Contains(text, want) {
					t.Errorf("%q has no %q", text, want)
				}
			}
		})
	}
}

// An extension that has much to do is not silent.
func TestRequests_ExtensionThatAnswersOthers_IsWaitedFor(t *testing.T) {
	t.Parallel()
	now := testingclock.NewFakeClock(noon)
	other := request("Worker", "transplant", "other", nil)
	r, api := seedWith(now, request("Worker", "transplant", "x", nil), other)
	look(t, r)
	now.Step(9 * time.Second)
	workers := api.Resource(extensionsv1alpha1.SchemeGroupVersion.WithResource("workers")).Namespace("shoot--p--alpha")
	other.SetFinalizers([]string{"taken"})
	if _, err := workers.Update(t.Context(), other, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	look(t, r)
	now.Step(9 * time.Second)
	for _, f := range look(t, r) {
		if f.State.Hopeless() {
			t.Errorf("%s", f)
		}
	}
	now.Step(time.Second)
	hopeless := 0
	for _, f := range look(t, r) {
		if f.State == Silent {
			hopeless++
		}
	}
	if hopeless != 1 {
		t.Errorf("%d are silent when it has answered nobody for 10 s, want 1", hopeless)
	}
}

func TestRequests_Errors(t *testing.T) {
	t.Parallel()
	failing := object{"lastOperation": operation("Error"), "lastError": object{"description": "quota\nexceeded"}}
	now := testingclock.NewFakeClock(noon)
	r, _ := seedWith(now, request("Extension", "vault", "x", failing),
		request("Worker", "transplant", "w", object{"lastOperation": operation("Processing")}),
		request("Network", "transplant", "n", object{"lastOperation": operation("Succeeded")}))
	found := look(t, r)
	if len(found) != 2 {
		t.Fatalf("%v, want what fails and what is at work", found)
	}
	texts := found[0].String() + "\n" + found[1].String()
	for _, want := range []string{"Extension shoot--p--alpha/x of type vault has its error: quota exceeded",
		"Worker shoot--p--alpha/w of type transplant: Create Processing 50%: at work"} {
		if !strings.Contains(texts, want) {
			t.Errorf("%q has no %q", texts, want)
		}
	}
	for _, f := range found {
		if f.State != Suspect {
			t.Errorf("at first: %s", f)
		}
	}
	now.Step(30 * time.Second)
	for _, f := range look(t, r) {
		if want := map[string]State{"acme": Failing, "": Suspect}[f.Owner.Extension]; f.State != want {
			t.Errorf("after half the patience: state %d, want %d: %s", f.State, want, f)
		}
	}
}

// What is to keep off, and what is being deleted, waits for nobody.
func TestRequests_WaitForState_IsNotOpen(t *testing.T) {
	t.Parallel()
	kept := request("Worker", "transplant", "x", nil)
	kept.SetAnnotations(map[string]string{"gardener.cloud/operation": "wait-for-state"})
	gone := request("Worker", "transplant", "y", nil)
	gone.SetDeletionTimestamp(&metav1.Time{Time: noon})
	r, _ := seedWith(testingclock.NewFakeClock(noon), kept, gone)
	if found := look(t, r); len(found) > 0 {
		t.Errorf("%v", found)
	}
}
