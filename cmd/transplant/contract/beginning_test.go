package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/diagnosis"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// crashing is a seed with one pod, of an actor that ends again and again.
type crashing string

func (actor crashing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/api/v1/pods" {
		return noCloud{}.RoundTrip(r)
	}
	began := metav1.NewTime(time.Now().Add(-time.Second))
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "y", Name: "x-1"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x",
			Env: []corev1.EnvVar{{Name: landscape.ActorVariable, Value: string(actor)}}}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "x", RestartCount: 4,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1,
				StartedAt: began, FinishedAt: metav1.Now()}}}}}}
	content, err := json.Marshal(corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		Items: []corev1.Pod{pod}})
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(content)), Request: r,
		Header: http.Header{"Content-Type": []string{"application/json"}}}, err
}

// An extension that brings no object to its end ends the run long before the waits of a gardenlet do, with what is
// wrong. One that has begun, however late it ends, is judged.
func TestWhileItBegins_NoSuccess_IsAnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status map[string]any
		want   string // in the error; empty for none
		state  diagnosis.State
	}{
		"no answer": {nil, "the extension x never answered on seed " + sourceName +
			": after 1m0s none of 1 objects has an answer\n", diagnosis.Silent},
		"only errors": {map[string]any{"lastOperation": map[string]any{"type": "Create", "state": "Error"},
			"lastError": map[string]any{"description": "secrets is\nforbidden"}},
			"the extension x goes on failing on seed " + sourceName + ": after 1m0s Network n/o has its error: secrets is " +
				"forbidden\n", diagnosis.Failing},
		"in work, and crashing": {map[string]any{"lastOperation": map[string]any{"type": "Create", "state": "Processing"}},
			"the extension x never came up on seed " + sourceName + ": exit code 1, restarts: 4 (container x of pod y/x-1); " +
				"after 1m0s none of 1 objects has succeeded\n", diagnosis.Crashing},
		"in work":   {map[string]any{"lastOperation": map[string]any{"type": "Create", "state": "Processing"}}, "", 0},
		"a success": {map[string]any{"lastOperation": map[string]any{"type": "Create", "state": "Succeeded"}}, "", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			u, at := universeOn(t, contract.Clean)
			at.config = &rest.Config{Host: "http://seed.test", Transport: noCloud{}}
			if c.state == diagnosis.Crashing {
				at.config.Transport = crashing(at.actor)
			}
			object := versionOf("1", "reconcile")
			object.Object["status"] = c.status
			if err := at.objects["Network"].take(t.Context(), watch.Added, object, nil); err != nil {
				t.Fatal(err)
			}
			err := u.whileItBegins(t.Context(), nil, func(ctx context.Context, _ *kit) error { return sleep(ctx, 3*beginWait) })
			never := (*diagnosis.NeverUpError)(nil)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s: %v", name, err)
			case c.want != "" && (!errors.As(err, &never) || never.Findings[0].State != c.state ||
				!strings.HasPrefix(err.Error(), c.want) || !strings.Contains(err.Error(), "no cloud")):
				t.Errorf("%s: %v, want %q and why there is no log", name, err, c.want)
			}
		})
	}
}

// The minute begins with the first object, and again with the first error.
func TestWhileItBegins_StateChanges_BeginsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, at := universeOn(t, contract.Clean)
		at.config = &rest.Config{Host: "http://seed.test", Transport: noCloud{}}
		show := func(after time.Duration, number, state string) {
			time.AfterFunc(after, func() {
				object := versionOf(number, "reconcile")
				object.Object["status"] = map[string]any{"lastOperation": map[string]any{"type": "Create", "state": state},
					"lastError": map[string]any{"description": strings.TrimSuffix(state, "Processing")}}
				if err := at.objects["Network"].take(t.Context(), watch.Modified, object, nil); err != nil {
					t.Error(err)
				}
			})
		}
		show(beginWait-time.Second, "1", "Processing")
		show(2*beginWait, "2", "Error")
		began := time.Now()
		err := u.whileItBegins(t.Context(), nil, func(ctx context.Context, _ *kit) error { return sleep(ctx, 9*beginWait) })
		if took := time.Since(began); err == nil || took < 3*beginWait || took > 4*beginWait {
			t.Errorf("ended after %s: %v", took, err)
		}
	})
}

// Before the first object is there nothing can be late, and what the run itself does wrong is its error.
func TestWhileItBegins_NoObject_IsNotLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, at := universeOn(t, contract.Clean)
		at.config = &rest.Config{Host: "http://seed.test", Transport: noCloud{}}
		failed := errors.New("no namespace")
		if err := u.whileItBegins(t.Context(), nil, func(ctx context.Context, _ *kit) error {
			if err := sleep(ctx, 3*beginWait); err != nil {
				return err
			}
			return failed
		}); !errors.Is(err, failed) {
			t.Errorf("%v, want %v", err, failed)
		}
	})
}

// What has no object that is to succeed gets one when all have failed. Whether that one succeeds shows whether the
// extension works.
func TestWhileItBegins_NothingIsToSucceed_MakesOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last string // operation of the undisturbed object
		made error
		want string // in the error; empty for none
	}{
		"it succeeds":   {"Succeeded", nil, ""},
		"it fails, too": {"Error", nil, "the extension x goes on failing on seed " + sourceName},
		"none is made":  {"Error", errors.New("no namespace"), "make an undisturbed object: no namespace"},
	} {
		synctest.Test(t, func(t *testing.T) {
			u, at := universeOn(t, contract.NoSeed)
			at.config = &rest.Config{Host: "http://seed.test", Transport: noCloud{}}
			show := func(name, state string) {
				object := versionOf("1", "reconcile")
				object.SetName(name)
				object.Object["status"] = map[string]any{"lastOperation": map[string]any{"type": "Create", "state": state},
					"lastError": map[string]any{"description": strings.TrimSuffix(state, "Succeeded")}}
				if err := at.objects["Network"].take(t.Context(), watch.Added, object, nil); err != nil {
					t.Error(err)
				}
			}
			show("o", "Error")
			var after time.Duration
			began := time.Now()
			err := u.whileItBegins(t.Context(), func(context.Context) error {
				after = time.Since(began)
				show("begins", c.last)
				return c.made
			}, func(ctx context.Context, _ *kit) error { return sleep(ctx, 4*beginWait) })
			took := time.Since(began)
			if after < beginWait || after > 2*beginWait || c.want != "" && took >= 4*beginWait ||
				c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: made after %s, ended after %s: %v, want %q", name, after, took, err, c.want)
			}
		})
	}
}
