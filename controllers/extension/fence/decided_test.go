package fence

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/transplant-sim/transplant/api/cloud"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

var ownerTiming = ownership.Timing{Interval: 10 * time.Second, Timeout: 50 * time.Second}

// dns is the decision as one seed sees it.
type dns struct {
	ownership.Authority

	mu     sync.Mutex
	cut    bool
	reads  int
	before func() // runs once, when the next read has been answered and its answer is on its way
}

// Read answers one question after the other.
func (d *dns) Read(ctx context.Context) (ownership.Record, ownership.Version, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reads++
	if d.cut {
		return ownership.Record{}, "", ownershiptest.ErrDown
	}
	record, version, err := d.Authority.Read(ctx)
	if d.before != nil {
		d.before()
		d.before = nil
	}
	return record, version, err
}

func (d *dns) set(change func(*dns)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
}

func (d *dns) asked() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reads
}

// sleeper is a seed with a shoot whose etcd does not run.
type sleeper struct {
	*GuardFence
	t     *testing.T
	seed  client.Client
	dns   *dns
	clock *ownershiptest.Clock
	cloud *cloud.Client
}

func newSleeper(t *testing.T, c *cloudtest.Cloud, clock *ownershiptest.Clock, decision ownership.Authority, owner,
	epoch string) *sleeper {
	t.Helper()
	guarded, err := Guarded(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	s := &sleeper{t: t, clock: clock, cloud: guarded, dns: &dns{Authority: decision}}
	s.seed = fake.NewClientBuilder().WithObjects(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: technicalID, Annotations: map[string]string{
			"transplant.dev/epoch": epoch, "transplant.dev/owner": owner,
			"transplant.dev/owner-record": "owner.alpha.p.shoots.test",
		}}},
		&appsv1.StatefulSet{ObjectMeta: s.inShoot("etcd-main"), Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](0)}},
		&corev1.Service{ObjectMeta: s.inShoot("etcd-main-client")},
	).Build()
	s.GuardFence = &GuardFence{
		Seed: s.seed, Clock: clock, Name: "extensions-1", Timing: ownerTiming, Idle: time.Hour,
		Decision: func(record string) ownership.Authority {
			if record != "owner.alpha.p.shoots.test" {
				t.Errorf("the owner record %q is asked for", record)
			}
			return s.dns
		},
	}
	t.Cleanup(s.Close)
	return s
}

func (s *sleeper) inShoot(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: technicalID, Name: name}
}

// asleep is seed a, which DNS names with epoch 3.
func asleep(t *testing.T) (*sleeper, *ownershiptest.Authority) {
	t.Helper()
	decision := &ownershiptest.Authority{}
	decision.Set(ownership.Record{Owner: "uid-a", Epoch: 3, Seed: "a"})
	clock := &ownershiptest.Clock{}
	clock.Step(time.Hour)
	return newSleeper(t, cloudtest.NewLandscape(t), clock, decision, "uid-a", "3"), decision
}

func (s *sleeper) hold() context.Context {
	s.t.Helper()
	ctx, release, err := s.Hold(s.t.Context(), technicalID)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(release)
	return ctx
}

// refused is why the shoot's ownership is not valid, which must be something to wait for.
func (s *sleeper) refused() string {
	s.t.Helper()
	_, _, err := s.Hold(s.t.Context(), technicalID)
	if !errors.Is(err, validity.ErrLapsed) {
		s.t.Fatalf("holding ended with %v", err)
	}
	return err.Error()
}

func (s *sleeper) annotate(key, value string) {
	s.t.Helper()
	namespace := &corev1.Namespace{}
	if err := s.seed.Get(s.t.Context(), client.ObjectKey{Name: technicalID}, namespace); err != nil {
		s.t.Fatal(err)
	}
	namespace.Annotations[key] = value
	if err := s.seed.Update(s.t.Context(), namespace); err != nil {
		s.t.Fatal(err)
	}
}

// etcd scales the shoot's etcd, as somebody whom no interceptor stops.
func (s *sleeper) etcd(replicas int32) {
	set := &appsv1.StatefulSet{}
	if err := s.seed.Get(context.Background(), client.ObjectKey{Namespace: technicalID, Name: "etcd-main"},
		set); err != nil {
		s.t.Error(err)
	}
	set.Generation++
	set.Spec.Replicas = &replicas
	if err := s.seed.Update(context.Background(), set); err != nil {
		s.t.Error(err)
	}
}

// passes lets time pass, in steps that whoever reads keeps up with.
func (s *sleeper) passes(d time.Duration) {
	s.t.Helper()
	for end := s.clock.Now().Add(d); s.clock.Now() < end; {
		// The end of the term, the pause before the next read, and the holder's own end are waited for.
		s.eventually("everybody to wait", func() bool { return s.clock.Waiting() >= 3 })
		asked := s.dns.asked()
		s.clock.Step(ownerTiming.Interval)
		s.eventually("the next read", func() bool { return s.dns.asked() > asked })
	}
}

// lapses waits until work is cancelled because validity has ended.
func (s *sleeper) lapses(ctx context.Context) {
	s.t.Helper()
	s.eventually("work to be cancelled", func() bool { return ctx.Err() != nil })
	if !errors.Is(context.Cause(ctx), validity.ErrLapsed) {
		s.t.Errorf("work ended with %v", context.Cause(ctx))
	}
}

func (s *sleeper) eventually(what string, met func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !met(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// TestTheEpochOfASleepingShootIsReadInDNS: where no guard runs, the decision gives a term for the timeout, counted from
// when the read was sent, and goes on giving it while DNS names this seed.
func TestTheEpochOfASleepingShootIsReadInDNS(t *testing.T) {
	t.Parallel()
	a, _ := asleep(t)
	a.dns.set(func(d *dns) { d.before = func() { a.clock.Step(2 * time.Second) } })
	ctx := a.hold()
	if scope, _ := cloud.ScopeFrom(ctx); scope != (cloud.Scope{Shoot: technicalID, Epoch: 3}) {
		t.Errorf("the scope is %+v", scope)
	}
	a.passes(200 * time.Second)
	if ctx.Err() != nil {
		t.Fatalf("DNS named the seed all the time, and work was cancelled: %v", context.Cause(ctx))
	}
	a.dns.set(func(d *dns) { d.cut = true })
	a.passes(40 * time.Second)
	if ctx.Err() != nil {
		t.Fatalf("work was cancelled within the timeout: %v", context.Cause(ctx))
	}
	a.clock.Step(10 * time.Second)
	a.lapses(ctx)
	if _, err := a.cloud.Networks().Create(context.WithoutCancel(ctx), &cloud.Network{}); !errors.Is(err,
		validity.ErrLapsed) {
		t.Errorf("after the lapse a call ends with %v", err)
	}
	a.dns.set(func(d *dns) { d.cut = false })
	a.hold()
}

// TestASlowReadOfDNSCountsFromItsStart: an answer that was on its way for the timeout gives nothing any more.
func TestASlowReadOfDNSCountsFromItsStart(t *testing.T) {
	t.Parallel()
	a, _ := asleep(t)
	by, err := a.source(t.Context(), technicalID)
	if err != nil {
		t.Fatal(err)
	}
	for took, valid := range map[time.Duration]bool{49 * time.Second: true, 50 * time.Second: false} {
		holder, err := a.begin(technicalID, by)
		if err != nil {
			t.Fatal(err)
		}
		a.dns.set(func(d *dns) { d.before = func() { a.clock.Step(took) } })
		if err := holder.Ask(t.Context()); (err == nil) != valid || holder.Term().Valid() != valid {
			t.Errorf("a read that took %v: %v", took, err)
		}
	}
}

// TestNobodyIsGrantedWhatDNSDoesNotSay: and the object waits, and says why.
func TestNobodyIsGrantedWhatDNSDoesNotSay(t *testing.T) {
	t.Parallel()
	for why, change := range map[string]func(*sleeper, *ownershiptest.Authority){
		"its owner record in DNS cannot be read": func(a *sleeper, _ *ownershiptest.Authority) {
			a.dns.set(func(d *dns) { d.cut = true })
		},
		"it has no owner record in DNS": func(_ *sleeper, d *ownershiptest.Authority) { d.Set(ownership.Record{}) },
		`its owner record in DNS is "owner=uid-b epoch=4 seed=b"`: func(_ *sleeper, d *ownershiptest.Authority) {
			d.Set(ownership.Record{Owner: "uid-b", Epoch: 4, Seed: "b"})
		},
		`its owner record in DNS is "owner=uid-b epoch=3 seed=b"`: func(_ *sleeper, d *ownershiptest.Authority) {
			d.Set(ownership.Record{Owner: "uid-b", Epoch: 3, Seed: "b"})
		},
		`its owner record in DNS is "owner=uid-a epoch=4 seed=a"`: func(_ *sleeper, d *ownershiptest.Authority) {
			d.Set(ownership.Record{Owner: "uid-a", Epoch: 4, Seed: "a"}) // taken anew, and not begun
		},
		`its owner record in DNS is "owner=none epoch=4 seed=a"`: func(_ *sleeper, d *ownershiptest.Authority) {
			d.Set(ownership.Record{Owner: ownership.Nobody, Epoch: 4, Seed: "a"})
		},
		"its namespace does not say in which epoch": func(a *sleeper, _ *ownershiptest.Authority) {
			a.annotate("transplant.dev/epoch", "")
		},
		"its namespace does not say where its owner is recorded": func(a *sleeper, _ *ownershiptest.Authority) {
			a.annotate("transplant.dev/owner-record", "")
		},
	} {
		a, decision := asleep(t)
		change(a, decision)
		act := Owned(a, OwnNamespace[*extensionsv1alpha1.Infrastructure],
			func(context.Context, logr.Logger, *extensionsv1alpha1.Infrastructure, *contract.Cluster) error {
				t.Errorf("%s: the act was begun", why)
				return nil
			})
		err := act(t.Context(), logr.Discard(), infrastructureObject(), nil)
		if pending, waits := errors.AsType[*contract.Pending](err); !waits ||
			pending.For != "a valid ownership of the shoot: "+why {
			t.Errorf("%s: the object has %v", why, err)
		}
	}
}

// TestAnEndedEpochIsNotGrantedByDNS: the source of a planned migration is still named when its etcd has stopped, and
// the destination does not wait for it.
func TestAnEndedEpochIsNotGrantedByDNS(t *testing.T) {
	t.Parallel()
	for value, annotation := range map[string]string{
		"Ended": "transplant.dev/phase", "Saved": "transplant.dev/phase",
		"3": "transplant.dev/ended-epoch", // by an older build
	} {
		a, _ := asleep(t)
		a.annotate(annotation, value)
		if why := a.refused(); why != "its epoch has ended here" || a.dns.asked() != 0 {
			t.Errorf("%s %s: refused because %q, DNS was read %d times", annotation, value, why, a.dns.asked())
		}
	}
	for _, phase := range []string{"Claimed", "Deployed", "Begun"} {
		a, _ := asleep(t)
		a.annotate("transplant.dev/phase", phase)
		a.hold()
	}
	back, _ := asleep(t)
	back.annotate("transplant.dev/ended-epoch", "2") // it has moved away before, and come back
	back.hold()
}

// A term that DNS gave is not renewed once the epoch has ended.
func TestGuardFence_EpochEndsWhileHibernatedShootIsUsed_TermLapses(t *testing.T) {
	t.Parallel()
	a, _ := asleep(t)
	ctx := a.hold()
	a.annotate("transplant.dev/phase", "Ended")
	a.passes(40 * time.Second)
	a.clock.Step(10 * time.Second)
	a.lapses(ctx)
}

// TestAGuardEndsWhatDNSGives: a guard does not know who has read DNS, so nobody is given anything by a read after which
// a guard may have run. What was given before runs out, for which the guard waits.
func TestAGuardEndsWhatDNSGives(t *testing.T) {
	t.Parallel()
	guard, address := newGuard(t, 3)
	for name, meanwhile := range map[string]func(*sleeper){
		"its etcd begins":          func(a *sleeper) { a.etcd(1) },
		"its etcd begins and ends": func(a *sleeper) { a.etcd(1); a.etcd(0) },
		"another epoch begins":     func(a *sleeper) { a.annotate("transplant.dev/epoch", "5") },
	} {
		a, _ := asleep(t)
		a.dns.set(func(d *dns) { d.before = func() { meanwhile(a) } })
		if why := a.refused(); !strings.Contains(why, "its etcd or another epoch has begun") {
			t.Errorf("while DNS is read, %s: %s", name, why)
		}
	}

	a, _ := asleep(t)
	a.Address = func(*corev1.Service) string { return address }
	ctx := a.hold()
	a.eventually("everybody to wait", func() bool { return a.clock.Waiting() >= 3 })
	a.etcd(1)
	a.clock.Step(ownerTiming.Interval)
	a.eventually("the end of reading DNS", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.holders) == 0
	})
	asked := a.dns.asked()
	a.clock.Step(40*time.Second - ownerTiming.Interval)
	if ctx.Err() != nil {
		t.Errorf("work begun before etcd was cut off by it: %v", context.Cause(ctx))
	}
	guard.set(validity.Answer{State: validity.Suspended, Epoch: 3})
	if why := a.refused(); !strings.Contains(why, "ask the guard of epoch 3") {
		t.Errorf("not the guard was asked, but %s", why)
	}
	a.clock.Step(10 * time.Second)
	a.lapses(ctx)
	if a.dns.asked() != asked {
		t.Error("DNS is read beside the guard")
	}
}

// TestAGuardThatEndsIsAsked: an etcd that is to end may still be fenced and take its final snapshot.
func TestAGuardThatEndsIsAsked(t *testing.T) {
	t.Parallel()
	_, address := newGuard(t, 4)
	a, _ := asleep(t)
	a.Address = func(*corev1.Service) string { return address }
	if err := a.seed.Create(t.Context(), &corev1.Pod{ObjectMeta: a.inShoot("etcd-main-0")}); err != nil {
		t.Fatal(err)
	}
	if scope, _ := cloud.ScopeFrom(a.hold()); scope.Epoch != 4 || a.dns.asked() != 0 {
		t.Errorf("the scope is %+v, DNS was read %d times", scope, a.dns.asked())
	}
}

// TestBeforeEtcdDNSIsRead: a shoot that is created or restored has an epoch, and no etcd yet.
func TestBeforeEtcdDNSIsRead(t *testing.T) {
	t.Parallel()
	a, _ := asleep(t)
	if err := a.seed.Delete(t.Context(), &appsv1.StatefulSet{ObjectMeta: a.inShoot("etcd-main")}); err != nil {
		t.Fatal(err)
	}
	a.hold()
	a.hold()
	a.eventually("everybody to wait", func() bool { return a.clock.Waiting() >= 3 })
	if reads := a.dns.asked(); reads != 1 {
		t.Errorf("DNS was read %d times", reads)
	}
}

// TestTwoSeedsOfASleepingShootMakeOneNetwork shows what docs/ownership.md#o8 is for. A shoot sleeps on a, which is cut
// off from garden and DNS, not from the cloud, and has a Create under way. b takes over, waits, looks for a network,
// and finds none. Then a creates one: the cloud has not heard of b's epoch yet.
func TestTwoSeedsOfASleepingShootMakeOneNetwork(t *testing.T) {
	t.Parallel()
	c, clock := cloudtest.NewLandscape(t), &ownershiptest.Clock{}
	clock.Step(time.Hour)
	claim, decision := &ownershiptest.Authority{}, &ownershiptest.Authority{}
	for _, authority := range []*ownershiptest.Authority{claim, decision} {
		authority.Set(ownership.Record{Owner: "uid-a", Epoch: 3, Seed: "a"})
	}
	a := newSleeper(t, c, clock, decision, "uid-a", "3")
	underWay := a.hold()
	a.dns.set(func(d *dns) { d.cut = true })

	taken := make(chan error, 1)
	go func() {
		epoch, err := (&ownership.Takeover{
			Owner: "uid-b", Seed: "b", Claim: claim, Decision: decision, Clock: clock, Timing: ownerTiming,
			BoundTo:       func(context.Context) (string, error) { return "b", nil },
			FinalSnapshot: func(context.Context, int64) (bool, error) { return false, nil },
		}).Run(t.Context())
		if err == nil && epoch != 4 {
			err = errors.New("another epoch than 4")
		}
		taken <- err
	}()
	begin := clock.Now()
	a.eventually("the end of the take-over", func() bool {
		select {
		case err := <-taken:
			if err != nil {
				t.Fatal(err)
			}
			return true
		default:
			clock.Step(200 * time.Millisecond)
			return false
		}
	})
	if waited := clock.Now().Sub(begin); waited < 65*time.Second {
		t.Fatalf("b has waited %v only", waited)
	}

	b := newSleeper(t, c, clock, decision, "uid-b", "4")
	ctx := b.hold()
	if found, err := b.cloud.Networks().List(ctx, ShootTag(ctx)); err != nil || len(found) > 0 {
		t.Fatalf("b finds %v, %v", found, err)
	}
	if _, err := a.cloud.Networks().Create(context.WithoutCancel(underWay),
		&cloud.Network{CIDR: "10.0.0.0/16", Tags: Tags(underWay)}); !errors.Is(err, validity.ErrLapsed) {
		t.Errorf("a, whose epoch is over, creates a network: %v", err)
	}
	if why := a.refused(); !strings.Contains(why, "cannot be read") {
		t.Errorf("a is refused because %s", why)
	}
	if _, err := b.cloud.Networks().Create(ctx, &cloud.Network{CIDR: "10.0.0.0/16", Tags: Tags(ctx)}); err != nil {
		t.Fatal(err)
	}
	if networks := c.IDs(cloud.KindNetworks); len(networks) != 1 {
		t.Errorf("the shoot has the networks %v", networks)
	}
	a.dns.set(func(d *dns) { d.cut = false })
	if why := a.refused(); !strings.Contains(why, "owner=uid-b epoch=4") {
		t.Errorf("a, which hears DNS again, is refused because %s", why)
	}
}
