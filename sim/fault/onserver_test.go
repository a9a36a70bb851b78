package fault_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// patience bounds every wait of the tests.
const patience = time.Minute

// wired is a world whose only link is a real one to a real API server. Its only process is the client of the test.
type wired struct {
	*worldtest.World
	link   *link.Link
	killed atomic.Int32
	// dying, when it is not nil, receives a value when a kill has begun; the kill waits until a value is sent back.
	dying chan struct{}
	// revived counts the kills that were healed.
	revived atomic.Int32
}

func (w *wired) BreakLink(_ context.Context, _, _ string, f link.Fault, hook requests.Hook) (world.Injection, error) {
	i := w.link.BeginWith(f, hook)
	return world.Injection{Heal: func(ctx context.Context) error {
		i.Heal()
		return i.Await(ctx)
	}, Hits: i.Hits}, nil
}

func (w *wired) BreakProcess(context.Context, world.Process, world.Harm) (world.Injection, error) {
	if w.dying != nil {
		w.dying <- struct{}{}
		<-w.dying
	}
	w.killed.Add(1)
	return world.Injection{Heal: func(context.Context) error {
		w.revived.Add(1)
		return nil
	}, Hits: func() int { return 1 }}, nil
}

// onServer is an environment for faults that live in links.
type onServer struct {
	world   *wired
	config  *rest.Config // through the link
	direct  *kubernetes.Clientset
	faults  *fault.Active
	journal *timeline.Journal
	number  int
}

// provocations do what each fault that lives in a link hits; they need not succeed.
var provocations = map[string]struct {
	spec    fault.Spec
	provoke func(context.Context, *client)
}{
	"cut": {fault.Spec{Cut: &fault.Cut{Link: arrow}}, read},
	"latency": {fault.Spec{Latency: &fault.Latency{Link: arrow, Delay: metav1.Duration{Duration: 10 * time.Millisecond}}},
		read},
	"bandwidth": {fault.Spec{Bandwidth: &fault.Bandwidth{Link: arrow, BytesPerSecond: resource.MustParse("64Ki")}}, read},
	"reset":     {fault.Spec{Reset: &fault.Reset{Actor: arrow.Actor, Target: arrow.Target}}, read},
	"failRequest": {fault.Spec{FailRequest: &fault.FailRequest{
		Requests: fault.Requests{Objects: settings, Verbs: []string{"create"}}, Status: 403,
	}}, write},
	"delayRequest": {fault.Spec{DelayRequest: &fault.DelayRequest{
		Requests: fault.Requests{Objects: settings}, Delay: metav1.Duration{Duration: 10 * time.Millisecond},
		At: requests.After,
	}}, write},
	"dropAnswer": {fault.Spec{DropAnswer: &fault.DropAnswer{Requests: fault.Requests{Objects: settings}}}, write},
	"holdRequest": {fault.Spec{HoldRequest: &fault.HoldRequest{Requests: fault.Requests{Objects: settings,
		Verbs: []string{"get"}}}}, read},
	"requestLimit": {fault.Spec{RequestLimit: &fault.RequestLimit{Objects: settings, Max: resource.MustParse("10")}},
		write},
	"crash": {fault.Spec{Crash: &fault.Crash{Requests: fault.Requests{Objects: settings}, At: requests.After}},
		write},
	"staleList":   {fault.Spec{StaleList: &fault.StaleList{Objects: settings}}, listTwice},
	"frozenWatch": {fault.Spec{FrozenWatch: &fault.FrozenWatch{Objects: settings}}, watchAndWrite},
	"closeWatch":  {fault.Spec{CloseWatch: &fault.CloseWatch{Watches: fault.Watches{Objects: settings}}}, watchAndWrite},
	"goneWatch":   {fault.Spec{GoneWatch: &fault.GoneWatch{Watches: fault.Watches{Objects: settings}}}, watchAndWrite},
}

var (
	arrow    = fault.Link{Actor: "gardenlet-a", Target: "garden"}
	settings = fault.Objects{Actor: "gardenlet-a", Target: "garden", Group: "core", Kind: "ConfigMap",
		Namespace: "default"}
)

// Every fault that lives in a link hits a client of a real API server, heals, and leaves the link clean; also if the
// run was cancelled in the middle of it, or failed.
func TestFaults_OfARealAPIServer_HitAndHeal(t *testing.T) {
	t.Parallel()
	for kind, spec := range examples {
		if _, f := spec.Fault(); (f.Traits().Ability == world.BreakLinks || f.Traits().Ability == world.CrashActors) &&
			provocations[kind].provoke == nil {
			t.Errorf("nothing provokes %s", kind)
		}
	}
	s := newOnServer(t, apiservertest.Start(t, apiservertest.Options{}))
	t.Run("trigger", s.testTrigger)
	t.Run("healedWhileItStrikes", s.testHealWhileACrashStrikes)
	t.Run("growObject", s.testGrowth)
	t.Run("loseObject", s.testLoss)
	t.Run("loseObjectMadeAnew", s.testLossOfWhatIsMadeAnew)
	for kind, c := range provocations {
		t.Run(kind, func(t *testing.T) {
			_, f := c.spec.Fault()
			s.test(t, kind+"-healed", f, c.provoke, func(ctx context.Context, name string) error {
				return s.faults.Heal(ctx, name)
			})
			s.test(t, kind+"-failed", f, c.provoke, func(ctx context.Context, _ string) error { return s.faults.HealAll(ctx) })
		})
	}
}

func newOnServer(t *testing.T, direct *rest.Config) *onServer {
	t.Helper()
	ca, err := pki.NewAuthority("transplant-links", time.Now())
	must(t, err)
	certificate, err := ca.IssueServing("127.0.0.1", time.Now())
	must(t, err)
	upstream, err := url.Parse(direct.Host)
	must(t, err)
	must(t, rest.LoadTLSFiles(direct))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(direct.CAData)
	l, err := link.New(link.Options{
		Actor: "gardenlet-a", Target: "garden", Listen: "127.0.0.1:0", Certificate: *certificate,
		Upstream: upstream, UpstreamTLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	})
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	s := &onServer{
		world: &wired{World: worldtest.New(t, "a"), link: l},
		config: &rest.Config{Host: l.URL(), BearerToken: direct.BearerToken,
			TLSClientConfig: rest.TLSClientConfig{CAData: ca.PEM()}, QPS: -1},
		journal: timeline.NewJournal(clock.RealClock{}, nil),
	}
	s.direct, err = kubernetes.NewForConfig(direct)
	must(t, err)
	s.faults = fault.NewActive(s.world, s.journal)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *onServer) test(t *testing.T, name string, f fault.Fault, provoke func(context.Context, *client),
	heal func(context.Context, string) error) {
	t.Helper()
	before := s.client(t)
	read(t.Context(), before)
	must(t, before.err)
	ctx, cancel := context.WithCancel(t.Context())
	must(t, s.faults.Inject(ctx, name, f))
	act, done := context.WithCancel(t.Context())
	defer done()
	provoked := make(chan struct{})
	go func() {
		defer close(provoked)
		provoke(act, s.client(t))
	}()
	for deadline := time.Now().Add(patience); s.hits() == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s has hit nothing", f.Name())
		}
	}
	cancel()
	must(t, heal(ctx, name))
	done()
	<-provoked
	after := s.client(t)
	write(t.Context(), after)
	must(t, after.err)
	if s.hits() != 0 || len(s.world.link.Injections()) != 0 {
		t.Errorf("the link still has %v", s.world.link.Injections())
	}
	healed := timeline.FaultHealed{}
	for e, p := range timeline.Of[timeline.FaultHealed](s.journal.Events()) {
		if e.Subject == name {
			healed = p
		}
	}
	if healed.Hits == 0 || healed.Error != "" || healed.Fault != f.Name() {
		t.Errorf("recorded %+v", healed)
	}
	if strings.HasPrefix(f.Name(), "crash") && s.world.killed.Swap(0) != 1 {
		t.Error("the actor was not killed once")
	}
}

// A crash that strikes while it is healed counts, and its victim is healed too.
func (s *onServer) testHealWhileACrashStrikes(t *testing.T) {
	s.world.dying = make(chan struct{})
	defer func() { s.world.dying = nil }()
	s.world.revived.Store(0)
	crash := &fault.Crash{Requests: fault.Requests{Objects: settings},
		Victim: &fault.Process{Cluster: "a", Program: "etcd"}}
	must(t, s.faults.Inject(t.Context(), "strikes-late", crash))
	written := make(chan struct{})
	go func() {
		defer close(written)
		write(t.Context(), s.client(t))
	}()
	<-s.world.dying
	healed := make(chan error, 1)
	go func() { healed <- s.faults.Heal(t.Context(), "strikes-late") }()
	for deadline := time.Now().Add(patience); len(s.world.link.Injections()) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the crash is not taken off the link")
		}
	}
	select {
	case err := <-healed:
		t.Errorf("it was healed while its victim was dying: %v", err)
		healed <- err
	case <-time.After(100 * time.Millisecond): // nothing shows that a heal waits
	}
	s.world.dying <- struct{}{}
	must(t, <-healed)
	<-written
	if n := s.world.revived.Load(); n != 1 || s.world.killed.Swap(0) != 1 {
		t.Errorf("%d victims were healed, want the one that was killed", n)
	}
	for e, p := range timeline.Of[timeline.FaultHealed](s.journal.Events()) {
		if e.Subject == "strikes-late" && p.Hits != 1 {
			t.Errorf("recorded %+v, want one hit", p)
		}
	}
}

func (s *onServer) testGrowth(t *testing.T) {
	secrets := s.direct.CoreV1().Secrets("default")
	_, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "grows"},
		Data: map[string][]byte{"kept": {1}}}, metav1.CreateOptions{})
	must(t, err)
	grow := func(size string) *fault.GrowObject {
		return &fault.GrowObject{
			OneObject: fault.OneObject{Cluster: fault.Cluster{Cluster: "a"}, APIVersion: "v1", Kind: "Secret",
				Namespace: "default", Object: "grows"},
			Size: resource.MustParse(size),
		}
	}
	w := &served{s.world, s.config}
	growth, err := grow("600Ki").Inject(t.Context(), w)
	must(t, err)
	wantHits(t, growth, 1)
	object, err := secrets.Get(t.Context(), "grows", metav1.GetOptions{})
	must(t, err)
	if n := len(object.Data["growth"]); n < 400<<10 || n > 600<<10 {
		t.Errorf("it grew by %d bytes", n)
	}
	if _, err := grow("10Ki").Inject(t.Context(), w); err == nil || !strings.Contains(err.Error(), "bytes already") {
		t.Errorf("shrinking: %v", err)
	}
	lost := grow("700Ki")
	lost.Field = "unknown.field"
	if _, err := lost.Inject(t.Context(), w); err == nil || !strings.Contains(err.Error(), "keeps no field") {
		t.Errorf("growing in a field that is not kept: %v", err)
	}
	must(t, growth.Heal(t.Context()))
	object, err = secrets.Get(t.Context(), "grows", metav1.GetOptions{})
	must(t, err)
	if len(object.Data) != 1 {
		t.Errorf("after the heal it holds %d fields", len(object.Data))
	}
	must(t, secrets.Delete(t.Context(), "grows", metav1.DeleteOptions{}))
	must(t, growth.Heal(t.Context()))
	growth, err = grow("600Ki").Inject(t.Context(), w)
	must(t, err)
	wantHits(t, growth, 0)
	unknown := grow("600Ki")
	unknown.Kind = "Secert"
	if _, err := unknown.Inject(t.Context(), w); !apierrors.IsNotFound(err) {
		t.Errorf("growing an object of a kind that there is not: %v", err)
	}
}

// wantHits checks how many objects a fault has harmed; one that has found none heals.
func wantHits(t *testing.T, injection world.Injection, want int) {
	t.Helper()
	if got := injection.Hits(); got != want {
		t.Errorf("it has hit %d objects, want %d", got, want)
	}
	if want == 0 {
		must(t, injection.Heal(t.Context()))
	}
}

func (s *onServer) testLoss(t *testing.T) {
	secrets := s.direct.CoreV1().Secrets("default")
	made, err := secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "lost", Finalizers: []string{"transplant.dev/kept"},
			Labels: map[string]string{"a": "b"}}, Data: map[string][]byte{"kept": {1}},
	}, metav1.CreateOptions{})
	must(t, err)
	lose := &fault.LoseObject{OneObject: fault.OneObject{Cluster: fault.Cluster{Cluster: "a"}, APIVersion: "v1",
		Kind: "Secret", Namespace: "default", Object: "lost"}}
	w := &served{s.world, s.config}
	loss, err := lose.Inject(t.Context(), w)
	must(t, err)
	wantHits(t, loss, 1)
	if _, err := secrets.Get(t.Context(), "lost", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
	again, err := lose.Inject(t.Context(), w)
	must(t, err)
	wantHits(t, again, 0)
	unknown := *lose
	unknown.Kind = "Secert"
	if _, err := unknown.Inject(t.Context(), w); !apierrors.IsNotFound(err) {
		t.Errorf("losing an object of a kind that there is not: %v", err)
	}
	for range 2 { // the second finds it there
		must(t, loss.Heal(t.Context()))
	}
	back, err := secrets.Get(t.Context(), "lost", metav1.GetOptions{})
	must(t, err)
	if back.UID == made.UID || len(back.Finalizers) != 1 || back.Labels["a"] != "b" || back.Data["kept"][0] != 1 {
		t.Errorf("after the heal it is %+v", back)
	}
}

// What is made anew between the look at it and its deletion is lost, too.
func (s *onServer) testLossOfWhatIsMadeAnew(t *testing.T) {
	secrets := s.direct.CoreV1().Secrets("default")
	anew := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "lost-anew"}}
	_, err := secrets.Create(t.Context(), anew, metav1.CreateOptions{})
	must(t, err)
	config := rest.CopyConfig(s.config)
	deletions := 0
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodDelete {
				if deletions++; deletions == 1 {
					must(t, secrets.Delete(t.Context(), anew.Name, metav1.DeleteOptions{}))
					_, err := secrets.Create(t.Context(), anew, metav1.CreateOptions{})
					must(t, err)
				}
			}
			return next.RoundTrip(r)
		})
	})
	lose := &fault.LoseObject{OneObject: fault.OneObject{Cluster: fault.Cluster{Cluster: "a"}, APIVersion: "v1",
		Kind: "Secret", Namespace: "default", Object: anew.Name}}
	loss, err := lose.Inject(t.Context(), &served{s.world, config})
	must(t, err)
	wantHits(t, loss, 1)
	if _, err := secrets.Get(t.Context(), anew.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
	if deletions != 2 {
		t.Errorf("%d deletions, want one of what was seen first, and one of what came after", deletions)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// served is a world whose clusters are all the real API server.
type served struct {
	*wired
	config *rest.Config
}

func (s *served) Connect(string) (*rest.Config, error) { return s.config, nil }

// hits is how often what acts on the link now has hit something.
func (s *onServer) hits() (sum int) {
	for _, i := range s.world.link.Injections() {
		sum += i.Hits()
	}
	return sum
}

// client is one client of the link, with connections of its own.
type client struct {
	*kubernetes.Clientset
	direct *kubernetes.Clientset
	name   string
	err    error
}

func (s *onServer) client(t *testing.T) *client {
	t.Helper()
	config := rest.CopyConfig(s.config)
	config.Dial = (&net.Dialer{}).DialContext // a dialer of one's own keeps the connections out of the shared pool
	web, err := rest.HTTPClientFor(config)
	must(t, err)
	t.Cleanup(web.CloseIdleConnections)
	set, err := kubernetes.NewForConfigAndClient(config, web)
	must(t, err)
	s.number++
	return &client{Clientset: set, direct: s.direct, name: "c-" + resource.NewQuantity(int64(s.number),
		resource.DecimalSI).String()}
}

func read(ctx context.Context, c *client) {
	_, err := c.CoreV1().ConfigMaps("default").Get(ctx, c.name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		c.err = errors.Join(errors.New("it is not the API server that answers"), err)
	}
}

func write(ctx context.Context, c *client) {
	_, c.err = c.CoreV1().ConfigMaps("default").Create(ctx, c.object(), metav1.CreateOptions{})
}

func (c *client) object() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: c.name}}
}

// listTwice finds the second list old: something was written since the first.
func listTwice(ctx context.Context, c *client) {
	for range 2 {
		_, c.err = c.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		write(ctx, c)
	}
}

func watchAndWrite(ctx context.Context, c *client) {
	list, err := c.direct.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		c.err = err
		return
	}
	var w watch.Interface
	if w, c.err = c.CoreV1().ConfigMaps("default").Watch(ctx,
		metav1.ListOptions{ResourceVersion: list.ResourceVersion}); c.err != nil {
		return
	}
	defer w.Stop()
	if _, c.err = c.direct.CoreV1().ConfigMaps("default").Create(ctx, c.object(), metav1.CreateOptions{}); c.err != nil {
		return
	}
	<-ctx.Done()
}
