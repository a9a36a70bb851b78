package link_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/clusters/link/watches"
)

// ground is a real API server, and a link to it for each test.
type ground struct {
	world  *world
	config *rest.Config
	direct *kubernetes.Clientset
	target *url.URL
	roots  *x509.CertPool
}

// apiFaults takes every fault of requests and watches to a real API server, with JSON and with protobuf.
func (g ground) apiFaults(t *testing.T) {
	for name, contentType := range map[string]string{"json": "application/json", "protobuf": protobufType} {
		for fault, test := range map[string]func(*testing.T, *stand){
			"fail": failRequests, "too many requests": tooMany, "delay": delayRequests, "drop answer": dropAnswers,
			"hold": holdRequests, "crash before": crashBefore, "crash after": crashAfter, "size limit": sizeLimit,
			"stale list": staleList, "stale list zipped": zippedList, "stale informer": staleInformer,
			"frozen watch": frozenWatch,
			"closed watch": closedWatch, "gone watch": goneWatch, "informers live": informersLive, "tripwire": tripwire,
		} {
			t.Run(strings.ReplaceAll(fault, " ", "-")+"/"+name, func(t *testing.T) { test(t, g.stand(t, contentType)) })
		}
	}
}

// stand is one link to the API server, with a namespace of its own.
type stand struct {
	link            *link.Link
	direct, through *kubernetes.Clientset
	namespace       string
	accept          string // the content types that the client takes
}

func (g ground) stand(t *testing.T, contentType string) *stand {
	t.Helper()
	l := g.world.link(t, link.Options{Upstream: g.target, UpstreamTLS: &tls.Config{RootCAs: g.roots}})
	config := g.world.kubeconfig(g.config, l.URL(), nil)
	config.ContentType, config.AcceptContentTypes = contentType, contentType+",application/json"
	namespace, err := g.direct.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "fault-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &stand{link: l, direct: g.direct, through: clientset(t, config), namespace: namespace.Name,
		accept: config.AcceptContentTypes}
}

// begin injects a fault on the ConfigMaps of the stand, and heals it at the end of the test.
func (s *stand) begin(t *testing.T, f link.Fault, hook requests.Hook) *link.Injection {
	t.Helper()
	i := s.link.BeginWith(f, hook)
	t.Cleanup(i.Heal)
	return i
}

func (s *stand) match(verbs ...string) kubeapi.Match {
	return kubeapi.Match{Verbs: verbs, Group: kubeapi.Core, Resource: "configmaps", Namespace: s.namespace}
}

func (s *stand) create(ctx context.Context, through *kubernetes.Clientset, name string) error {
	_, err := through.CoreV1().ConfigMaps(s.namespace).Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return err
}

func (s *stand) mustCreate(t *testing.T, name string) {
	t.Helper()
	if err := s.create(t.Context(), s.direct, name); err != nil {
		t.Fatal(err)
	}
}

func (s *stand) apply(ctx context.Context, name, value string) error {
	wanted := corev1apply.ConfigMap(name, s.namespace).WithData(map[string]string{"key": value})
	_, err := s.through.CoreV1().ConfigMaps(s.namespace).Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: "test"})
	return err
}

func (s *stand) exists(t *testing.T, name string) bool {
	t.Helper()
	_, err := s.direct.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// list names what there is, but for what Kubernetes itself puts there.
func (s *stand) list(t *testing.T, through *kubernetes.Clientset, o metav1.ListOptions) (names []string,
	version string) {
	t.Helper()
	list, err := through.CoreV1().ConfigMaps(s.namespace).List(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names, list.ResourceVersion
}

func (s *stand) watch(t *testing.T, o metav1.ListOptions) <-chan watch.Event {
	t.Helper()
	w, err := s.through.CoreV1().ConfigMaps(s.namespace).Watch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w.ResultChan()
}

// watchNow watches from now on.
func (s *stand) watchNow(t *testing.T) <-chan watch.Event {
	t.Helper()
	_, version := s.list(t, s.direct, metav1.ListOptions{})
	return s.watch(t, metav1.ListOptions{ResourceVersion: version})
}

func expectHits(t *testing.T, i *link.Injection, want int) {
	t.Helper()
	if i.Hits() != want {
		t.Errorf("%s has %d hits, want %d", i.Fault().Name(), i.Hits(), want)
	}
}

func expectAdded(t *testing.T, events <-chan watch.Event, name string) {
	t.Helper()
	event := wait(t, events)
	object, is := event.Object.(*corev1.ConfigMap)
	if event.Type != watch.Added || !is || object.Name != name {
		t.Fatalf("got the event %v, want %s", event, name)
	}
}

func failRequests(t *testing.T, s *stand) {
	i := s.begin(t,
		requests.Fail{Match: s.match("apply"), Turn: requests.Turn{Nth: 2}, Status: 503, Message: "sorry"}, nil)
	if err := s.apply(t.Context(), "a", "1"); err != nil {
		t.Error(err)
	}
	err := s.apply(t.Context(), "a", "2")
	if !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "sorry") {
		t.Errorf("got %v, want the status of an API server", err)
	}
	if err := s.apply(t.Context(), "a", "3"); err != nil {
		t.Error(err)
	}
	expectHits(t, i, 1)

	named := s.match("create")
	named.Name = "b" // stands in the body only
	j := s.begin(t, requests.Fail{Match: named, Status: 403, Reason: metav1.StatusReasonForbidden}, nil)
	if err := s.create(t.Context(), s.through, "c"); err != nil {
		t.Error(err)
	}
	if err := s.create(t.Context(), s.through, "b"); !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want forbidden", err)
	}
	j.Heal()
	if err := s.create(t.Context(), s.through, "b"); err != nil {
		t.Error(err)
	}
	expectHits(t, j, 1)
}

// Clients try again by themselves when the answer says when.
func tooMany(t *testing.T, s *stand) {
	i := s.begin(t, requests.Fail{Match: s.match("create"), Turn: requests.Turn{Times: 1}, Status: 429}, nil)
	if err := s.create(t.Context(), s.through, "a"); err != nil {
		t.Error(err)
	}
	expectHits(t, i, 1)
}

func delayRequests(t *testing.T, s *stand) {
	i := s.begin(t,
		requests.Delay{Match: s.match("create"), At: requests.After, Delay: metav1.Duration{Duration: time.Hour}}, nil)
	created := async(func() (bool, error) { return true, s.create(t.Context(), s.through, "a") })
	eventually(t, "it is created", func() bool { return s.exists(t, "a") })
	eventually(t, "the answer is on its way back", func() bool { return i.Hits() == 1 })
	select {
	case <-created:
		t.Error("the answer was not delayed")
	default:
	}
	i.Heal()
	if r := wait(t, created); r.err != nil {
		t.Error(r.err)
	}
	expectHits(t, i, 1)
}

func dropAnswers(t *testing.T, s *stand) {
	i := s.begin(t, requests.DropAnswer{Match: kubeapi.Match{Resource: "configmaps"}}, nil)
	if err := s.create(t.Context(), s.through, "a"); err == nil ||
		apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		t.Errorf("got %v, want a broken connection", err)
	}
	if !s.exists(t, "a") {
		t.Error("it was not created")
	}
	if _, err := s.through.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
		t.Errorf("reads are harmed: %v", err)
	}
	i.Heal()
	if err := s.create(t.Context(), s.through, "b"); err != nil {
		t.Error(err)
	}
	expectHits(t, i, 1)
}

func holdRequests(t *testing.T, s *stand) {
	s.mustCreate(t, "a")
	i := s.begin(t, requests.Hold{Match: s.match("patch")}, nil)
	patched := async(func() (*corev1.ConfigMap, error) {
		return s.through.CoreV1().ConfigMaps(s.namespace).Patch(t.Context(), "a", types.MergePatchType,
			[]byte(`{"data":{"key":"1"}}`), metav1.PatchOptions{})
	})
	eventually(t, "it is kept", func() bool { return i.Hits() == 1 })
	stored, err := s.direct.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || stored.Data["key"] != "" {
		t.Errorf("the server has %v, %v", stored.Data, err)
	}
	given, cancel := context.WithCancel(t.Context())
	other := async(func() (bool, error) { return true, s.apply(given, "a", "2") })
	eventually(t, "the other is kept", func() bool { return i.Hits() == 2 })
	cancel()
	if r := wait(t, other); r.err == nil {
		t.Error("a request that was given up is answered")
	}
	i.Heal()
	if r := wait(t, patched); r.err != nil || r.value.Data["key"] != "1" {
		t.Errorf("got %v", r)
	}
}

func crashBefore(t *testing.T, s *stand) { crash(t, s, requests.Before) }
func crashAfter(t *testing.T, s *stand)  { crash(t, s, requests.After) }

func crash(t *testing.T, s *stand, at requests.Moment) {
	there := make(chan bool, 1)
	i := s.begin(t, requests.Crash{Match: kubeapi.Match{Namespace: s.namespace}, Turn: requests.Turn{Nth: 2}, At: at},
		func(_ context.Context, q kubeapi.Request) {
			if q.Verb != kubeapi.VerbApply || q.Resource != "configmaps" || q.Name != "b" {
				t.Errorf("the hook got %+v", q)
			}
			there <- s.exists(t, "b")
		})
	if err := s.create(t.Context(), s.through, "a"); err != nil {
		t.Error(err)
	}
	if err := s.apply(t.Context(), "b", "1"); err == nil {
		t.Error("an actor that has crashed was answered")
	}
	if wait(t, there) != (at == requests.After) || s.exists(t, "b") != (at == requests.After) {
		t.Errorf("crashed %s: the write is there: %t", at, s.exists(t, "b"))
	}
	if err := s.apply(t.Context(), "b", "1"); err != nil { // after its restart
		t.Error(err)
	}
	expectHits(t, i, 1)
}

func sizeLimit(t *testing.T, s *stand) {
	i := s.begin(t, requests.SizeLimit{Match: s.match(), Bytes: 64 << 10}, nil)
	if err := s.apply(t.Context(), "a", strings.Repeat("x", 60<<10)); err != nil {
		t.Error(err)
	}
	if err := s.apply(t.Context(), "a", strings.Repeat("x", 70<<10)); !apierrors.IsRequestEntityTooLargeError(err) {
		t.Errorf("got %v, want too large", err)
	}
	i.Heal()
	if err := s.apply(t.Context(), "a", strings.Repeat("x", 70<<10)); err != nil {
		t.Error(err)
	}
	expectHits(t, i, 1)
}

func staleList(t *testing.T, s *stand) {
	s.mustCreate(t, "a")
	s.watchNow(t) // by which the link knows what to keep
	i := s.begin(t, watches.StaleList{Match: s.match()}, nil)
	_, _ = s.list(t, s.through, metav1.ListOptions{ResourceVersion: "0"})
	expectHits(t, i, 0) // nothing is old yet
	s.mustCreate(t, "b")
	fresh, _ := s.list(t, s.through, metav1.ListOptions{})
	old, version := s.list(t, s.through, metav1.ListOptions{ResourceVersion: "0", Limit: 500})
	if !slices.Contains(fresh, "b") || slices.Contains(old, "b") || !slices.Contains(old, "a") {
		t.Errorf("consistent: %v, at any version: %v", fresh, old)
	}
	expectHits(t, i, 1)
	_, now := s.list(t, s.direct, metav1.ListOptions{})
	if names, _ := s.list(t, s.through, metav1.ListOptions{ResourceVersion: now}); !slices.Contains(names, "b") {
		t.Errorf("a list that must not be older than b holds %v", names)
	}
	if names, _ := s.list(t, s.through, metav1.ListOptions{ResourceVersion: now,
		ResourceVersionMatch: metav1.ResourceVersionMatchExact}); !slices.Contains(names, "b") {
		t.Errorf("an exact list holds %v", names)
	}
	events := s.watch(t, metav1.ListOptions{ResourceVersion: version})
	eventually(t, "an event is held back", func() bool { return i.Hits() > 1 })
	select {
	case event := <-events:
		t.Errorf("got %v from a cache that lags behind", event)
	default:
	}
	i.Heal()
	expectAdded(t, events, "b")
}

// An API server compresses lists of more than 128 KiB for whoever takes them so, as every Go client does.
func zippedList(t *testing.T, s *stand) {
	for _, name := range []string{"a", "b", "c"} {
		large := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name},
			Data: map[string]string{"key": strings.Repeat("x", 60<<10)}}
		if _, err := s.direct.CoreV1().ConfigMaps(s.namespace).Create(t.Context(), large,
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.watchNow(t)
	i := s.begin(t, watches.StaleList{Match: s.match()}, nil)
	s.mustCreate(t, "the-new-one")
	if fresh, zipped := s.zippedAnswer(t, ""); !zipped || !bytes.Contains(fresh, []byte("the-new-one")) {
		t.Errorf("a consistent list, compressed: %t, holds the new one: %t", zipped,
			bytes.Contains(fresh, []byte("the-new-one")))
	}
	expectHits(t, i, 0)
	if old, _ := s.zippedAnswer(t, "resourceVersion=0"); len(old) < 3*60<<10 || bytes.Contains(old,
		[]byte("the-new-one")) {
		t.Errorf("a list of any version is of %d bytes, and holds the new one: %t", len(old),
			bytes.Contains(old, []byte("the-new-one")))
	}
	old, _ := s.list(t, s.through, metav1.ListOptions{ResourceVersion: "0"})
	if !slices.Contains(old, "c") || slices.Contains(old, "the-new-one") {
		t.Errorf("a client reads %v", old)
	}
	expectHits(t, i, 2)
}

// zippedAnswer is a list as it was before it was compressed, and whether it was.
func (s *stand) zippedAnswer(t *testing.T, query string) (content []byte, zipped bool) {
	t.Helper()
	get := s.through.CoreV1().RESTClient().Get().Namespace(s.namespace).Resource("configmaps")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, get.URL().String()+"?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", s.accept)
	request.Header.Set("Accept-Encoding", "gzip") // said by hand, Go does not decompress by itself
	client, ok := s.through.CoreV1().RESTClient().(*rest.RESTClient)
	if !ok {
		t.Fatalf("the client is a %T", s.through.CoreV1().RESTClient())
	}
	response, err := client.Client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var body io.Reader = response.Body
	if zipped = response.Header.Get("Content-Encoding") == "gzip"; zipped {
		if body, err = gzip.NewReader(body); err != nil {
			t.Fatal(err)
		}
	}
	if content, err = io.ReadAll(body); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %s, %v", response.Status, err)
	}
	return content, zipped
}

// An informer starts with the past, also one that wants its first list from a watch, and catches up after the heal.
func staleInformer(t *testing.T, s *stand) {
	s.mustCreate(t, "a")
	stop := s.inform(t)
	eventually(t, "a is seen", func() bool { return stop.has("a") })
	i := s.begin(t, watches.StaleList{Match: s.match()}, nil)
	s.mustCreate(t, "b")
	eventually(t, "b is seen by who watches already", func() bool { return stop.has("b") })
	again := s.inform(t)
	eventually(t, "the old list was given", func() bool { return i.Hits() > 0 && again.has("a") })
	if again.has("b") {
		t.Error("the informer knows what is new")
	}
	i.Heal()
	eventually(t, "b is seen", func() bool { return again.has("b") })
}

func frozenWatch(t *testing.T, s *stand) {
	open := s.watchNow(t)
	i := s.begin(t, watches.Frozen{Match: s.match()}, nil)
	later := s.watchNow(t)
	s.mustCreate(t, "a")
	eventually(t, "both watches feel it", func() bool { return i.Hits() >= 2 })
	select {
	case event := <-open:
		t.Errorf("got %v", event)
	case event := <-later:
		t.Errorf("got %v", event)
	default:
	}
	i.Heal()
	expectAdded(t, open, "a")
	expectAdded(t, later, "a")
	s.mustCreate(t, "b")
	expectAdded(t, open, "b")
}

func closedWatch(t *testing.T, s *stand) {
	open := s.watchNow(t)
	s.mustCreate(t, "a")
	expectAdded(t, open, "a")
	i := s.begin(t, watches.Closed{Match: s.match(), Turn: requests.Turn{Times: 2}}, nil)
	expectEnd(t, open)
	expectEnd(t, s.watchNow(t))
	third := s.watchNow(t)
	s.mustCreate(t, "b")
	expectAdded(t, third, "b")
	expectHits(t, i, 2)
	living := s.begin(t, watches.Closed{Match: s.match(), Life: metav1.Duration{Duration: 50 * time.Millisecond}}, nil)
	expectEnd(t, third)
	expectHits(t, living, 1)
}

func expectEnd(t *testing.T, events <-chan watch.Event) {
	t.Helper()
	for event := range events {
		t.Errorf("got %v, want the end", event)
	}
}

func goneWatch(t *testing.T, s *stand) {
	_, before := s.list(t, s.direct, metav1.ListOptions{})
	open := s.watchNow(t)
	s.mustCreate(t, "a")
	expectAdded(t, open, "a")
	i := s.begin(t, watches.Gone{Match: s.match()}, nil)
	expectGone(t, open)
	expectGone(t, s.watch(t, metav1.ListOptions{ResourceVersion: before}))
	expectHits(t, i, 2)
	_, version := s.list(t, s.through, metav1.ListOptions{})
	fresh := s.watch(t, metav1.ListOptions{ResourceVersion: version})
	s.mustCreate(t, "b")
	expectAdded(t, fresh, "b")
	expectGone(t, s.watch(t, metav1.ListOptions{ResourceVersion: before}))
	i.Heal()
	expectAdded(t, s.watch(t, metav1.ListOptions{ResourceVersion: before}), "a")
}

func expectGone(t *testing.T, events <-chan watch.Event) {
	t.Helper()
	event := wait(t, events)
	if err := apierrors.FromObject(event.Object); event.Type != watch.Error || !apierrors.IsResourceExpired(err) {
		t.Errorf("got %v, want 410", event)
	}
	expectEnd(t, events)
}

// Informers get over whatever happens to their watches.
func informersLive(t *testing.T, s *stand) {
	informed := s.inform(t)
	for _, f := range []link.Fault{watches.Closed{Match: s.match()}, watches.Gone{Match: s.match()},
		watches.Frozen{Match: s.match()}} {
		i := s.begin(t, f, nil)
		before, after := s.names(f)
		s.mustCreate(t, before)
		eventually(t, f.Name()+" has hit", func() bool { return i.Hits() > 0 })
		i.Heal()
		s.mustCreate(t, after)
		eventually(t, f.Name()+" is over", func() bool { return informed.has(before) && informed.has(after) })
	}
}

func (s *stand) names(f link.Fault) (before, after string) {
	name := strings.ToLower(f.Name()[:strings.Index(f.Name(), "(")])
	return name + "-before", name + "-after"
}

func tripwire(t *testing.T, s *stand) {
	seen := make(chan kubeapi.Request, 1)
	i := s.begin(t, requests.Tripwire{Match: s.match("create"), Turn: requests.Turn{Nth: 2}},
		func(_ context.Context, q kubeapi.Request) {
			seen <- q
		})
	for _, name := range []string{"a", "b", "c"} {
		if err := s.create(t.Context(), s.through, name); err != nil {
			t.Error(err)
		}
	}
	if q := wait(t, seen); q.Verb != kubeapi.VerbCreate || q.Namespace != s.namespace {
		t.Errorf("the hook got %+v", q)
	}
	expectHits(t, i, 1)
}

type informed struct {
	store     cache.Store
	namespace string
}

func (i informed) has(name string) bool {
	_, found, _ := i.store.GetByKey(i.namespace + "/" + name)
	return found
}

// inform runs an informer for the ConfigMaps of the stand until the end of the test.
func (s *stand) inform(t *testing.T) informed {
	t.Helper()
	configMaps := s.through.CoreV1().ConfigMaps(s.namespace)
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return configMaps.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return configMaps.Watch(ctx, o)
		},
	}, &corev1.ConfigMap{}, 0, nil)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		wait(t, done)
	})
	eventually(t, "the informer has synced", informer.HasSynced)
	return informed{informer.GetStore(), s.namespace}
}
