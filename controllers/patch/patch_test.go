package patch_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/controllers/patch"
)

func TestPatch_ObjectWrittenByOthersSinceItWasRead_ConflictsWithLock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		patch  func(context.Context, client.Client, client.Object, func()) error
		status bool
		locks  bool
	}{
		{"Object", patch.Object, false, false},
		{"LockedObject", patch.LockedObject, false, true},
		{"Status", patch.Status, true, false},
		{"LockedStatus", patch.LockedStatus, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			read := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
			fakeClient := fake.NewClientBuilder().WithObjects(read).WithStatusSubresource(read).Build()
			key := client.ObjectKey{Name: "n"}
			other := &corev1.Node{}
			if err := fakeClient.Get(ctx, key, read); err != nil {
				t.Fatal(err)
			}
			if err := fakeClient.Get(ctx, key, other); err != nil {
				t.Fatal(err)
			}
			other.Labels = map[string]string{"by": "others"}
			if err := fakeClient.Update(ctx, other); err != nil {
				t.Fatal(err)
			}
			if err := c.patch(ctx, fakeClient, read, func() {}); err != nil || read.ResourceVersion == other.ResourceVersion {
				t.Errorf("a change of nothing was sent: %v", err)
			}
			err := c.patch(ctx, fakeClient, read, func() { read.Spec.PodCIDR, read.Status.Phase = "10.0.0.0/24", "Running" })
			if apierrors.IsConflict(err) != c.locks || (err != nil) != c.locks {
				t.Fatalf("error %v, want a conflict: %t", err, c.locks)
			}
			if err := fakeClient.Get(ctx, key, other); err != nil {
				t.Fatal(err)
			}
			spec, status := other.Spec.PodCIDR != "", other.Status.Phase != ""
			if spec != (!c.locks && !c.status) || status != (!c.locks && c.status) || other.Labels["by"] != "others" {
				t.Errorf("specification written: %t, status: %t, labels %v", spec, status, other.Labels)
			}
		})
	}
}

func TestCreateOrPatch(t *testing.T) {
	t.Parallel()
	secret := func(key, value string) *corev1.Secret {
		meta := metav1.ObjectMeta{Namespace: "n", Name: "s", Labels: map[string]string{key: value}}
		return &corev1.Secret{ObjectMeta: meta}
	}
	for name, c := range map[string]struct {
		present *corev1.Secret
		unseen  int // reads that do not find it
		writes  string
		exists  bool // is the answer
	}{
		"missing":              {writes: "create"},
		"different":            {present: secret("other", "kept"), writes: "patch"},
		"the same":             {present: secret("wanted", "yes")},
		"created by others":    {present: secret("other", "kept"), unseen: 1, writes: "create patch"},
		"the same, by others":  {present: secret("wanted", "yes"), unseen: 1, writes: "create"},
		"the same, not cached": {present: secret("wanted", "yes"), unseen: 2, writes: "create", exists: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var writes []string
			reads := 0
			builder := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, object client.Object,
					opts ...client.GetOption) error {
					if reads++; reads <= c.unseen {
						return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
					}
					stored := &corev1.Secret{}
					if err := inner.Get(ctx, key, stored, opts...); err != nil {
						return err
					}
					content, err := json.Marshal(stored)
					if err != nil {
						return err
					}
					return json.Unmarshal(content, object) // as live clients do: what is not there stays as it is
				},
				Create: func(ctx context.Context, c client.WithWatch, object client.Object,
					opts ...client.CreateOption) error {
					writes = append(writes, "create")
					return c.Create(ctx, object, opts...)
				},
				Patch: func(ctx context.Context, c client.WithWatch, object client.Object, p client.Patch,
					opts ...client.PatchOption) error {
					writes = append(writes, "patch")
					return c.Patch(ctx, object, p, opts...)
				},
			})
			if c.present != nil {
				builder = builder.WithObjects(c.present)
			}
			object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}}
			err := patch.CreateOrPatch(t.Context(), builder.Build(), object, func(s *corev1.Secret) error {
				metav1.SetMetaDataLabel(&s.ObjectMeta, "wanted", "yes")
				return nil
			})
			if got := strings.Join(writes, " "); got != c.writes {
				t.Errorf("writes %q, want %q", got, c.writes)
			}
			if apierrors.IsAlreadyExists(err) != c.exists || (err != nil) != c.exists ||
				err == nil && object.Labels["wanted"] != "yes" {
				t.Errorf("error %v, labels %v", err, object.Labels)
			}
		})
	}
}

// An error says what was to be written, without values: those of a Secret must not get into a log.
func TestErrors_NameTheObjectAndItsFields(t *testing.T) {
	t.Parallel()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}}
	err := patch.Object(t.Context(), fake.NewClientBuilder().Build(), secret, func() {
		secret.Data = map[string][]byte{"password": []byte("hidden")}
		secret.Annotations = map[string]string{"example.org/by": "me"}
		secret.Finalizers = []string{"example.org/f"}
	})
	const want = `patch data, metadata.annotations.example.org/by, metadata.finalizers of Secret "n/s": `
	if !apierrors.IsNotFound(err) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want a text that begins with %q", err, want)
	}
}

// It does not look first; what is there gets what is wanted, and keeps the rest.
func TestCreateFirst(t *testing.T) {
	t.Parallel()
	present := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s",
		Labels: map[string]string{"other": "kept"}}}
	for name, c := range map[string]struct {
		present       []client.Object
		reads, labels int
	}{"missing": {labels: 1}, "there": {present: []client.Object{present}, reads: 1, labels: 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reads := 0
			kept := fake.NewClientBuilder().WithObjects(c.present...).Build()
			object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}}
			if err := patch.CreateFirst(t.Context(), interceptor.NewClient(kept, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
					options ...client.GetOption) error {
					reads++
					return c.Get(ctx, key, object, options...)
				},
			}), object, func(s *corev1.Secret) error {
				metav1.SetMetaDataLabel(&s.ObjectMeta, "wanted", "yes")
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if err := kept.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				t.Fatal(err)
			}
			if reads != c.reads || len(object.Labels) != c.labels || object.Labels["wanted"] != "yes" {
				t.Errorf("%d reads, want %d; labels %v", reads, c.reads, object.Labels)
			}
		})
	}
}

// What is usually missing is not looked for; what is there stays as it is.
func TestCreateOrRead(t *testing.T) {
	t.Parallel()
	present := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s",
		Labels: map[string]string{"other": "kept"}}}
	for name, c := range map[string]struct {
		present []client.Object
		created bool
		reads   int
		want    string // the label
	}{
		"missing": {created: true, want: "wanted"},
		"there":   {present: []client.Object{present}, reads: 1, want: "other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reads := 0
			kept := fake.NewClientBuilder().WithObjects(c.present...).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
					options ...client.GetOption) error {
					reads++
					return c.Get(ctx, key, object, options...)
				},
			}).Build()
			object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}}
			created, err := patch.CreateOrRead(t.Context(), kept, object, func(s *corev1.Secret) error {
				metav1.SetMetaDataLabel(&s.ObjectMeta, "wanted", "yes")
				return nil
			})
			if err != nil || created != c.created || reads != c.reads || len(object.Labels) != 1 || object.Labels[c.want] == "" {
				t.Errorf("created: %t, %v, %d reads, labels %v", created, err, reads, object.Labels)
			}
		})
	}
}
