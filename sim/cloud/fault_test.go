package cloud

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// inject sets a fault and returns how to heal it, which says how many calls matched and how many it hit.
func inject(t *testing.T, cloud *testCloud, fault api.Fault) func() (matched, hits int) {
	t.Helper()
	admin := cloud.as(t, "admin")
	fault.ID = "fire"
	must(admin.SetFault(t.Context(), fault))(t)
	return func() (int, int) {
		t.Helper()
		healed := must(admin.HealFault(t.Context(), "fire"))(t)
		return healed.Matched, healed.Hits
	}
}

func wantHits(t *testing.T, heal func() (int, int), matched, hits int) {
	t.Helper()
	if m, f := heal(); m != matched || f != hits {
		t.Errorf("%d calls matched and the fault hit %d, want %d and %d", m, f, matched, hits)
	}
}

func TestErrorAtTheNthCall(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	a, b, ctx := cloud.as(t, "extensions-a"), cloud.as(t, "extensions-b"), t.Context()
	heal := inject(t, cloud, api.Fault{
		Match: api.Match{Kinds: []string{api.KindNetworks}, Verbs: []string{api.VerbCreate},
			Identities: []string{"extensions-a"}},
		From: 2, Times: 2, Effect: api.Effect{Error: &api.ErrorEffect{Code: api.CodeDepleted}},
	})
	var codes []api.Code
	for range 5 {
		_, err := a.Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16"})
		codes = append(codes, api.CodeOf(err))
	}
	if diff := cmp.Diff([]api.Code{"", api.CodeDepleted, api.CodeDepleted, "", ""}, codes); diff != "" {
		t.Error(diff)
	}
	must(b.Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16"}))(t)
	must(a.Networks().List(ctx, api.Filter{}))(t)
	wantHits(t, heal, 5, 2)
	harmed := 0
	for _, entry := range cloud.ledgerOf(t) {
		if entry.Fault == "fire" && entry.Outcome == string(api.CodeDepleted) {
			harmed++
		}
	}
	if harmed != 2 {
		t.Errorf("%d entries name the fault, want 2", harmed)
	}
	_, err := cloud.as(t, "admin").HealFault(ctx, "fire")
	wantCode(t, err, api.CodeNotFound)
}

// The n-th call is the n-th that matches, whatever hit the calls before it, and whichever fault of a group they
// matched.
func TestTurnsAreExact(t *testing.T) {
	t.Parallel()
	refusal := func(code api.Code) api.Effect { return api.Effect{Error: &api.ErrorEffect{Code: code}} }
	create := api.Match{Verbs: []string{api.VerbCreate}}
	networks, mine := api.Match{Kinds: []string{api.KindNetworks}},
		api.Match{Identities: []string{"extensions-a", "extensions-b"}}
	lost := api.Effect{Throttle: &api.ThrottleEffect{PerSecond: 0, Burst: 0}}
	for name, c := range map[string]struct {
		faults []api.Fault
		want   []api.Code
		hits   []int
	}{
		"two-at-the-same-call": {
			[]api.Fault{{Match: create, Nth: 2, Effect: refusal(api.CodeDepleted)},
				{Match: create, Nth: 2, Effect: refusal(api.CodeInternal)}},
			[]api.Code{"", api.CodeDepleted, "", ""}, []int{1, 0},
		},
		"one-after-the-other": {
			[]api.Fault{{Match: create, Times: 1, Effect: refusal(api.CodeDepleted)},
				{Match: create, Nth: 3, Effect: refusal(api.CodeInternal)}},
			[]api.Code{api.CodeDepleted, "", api.CodeInternal, ""}, []int{1, 1},
		},
		"behind-another-effect": {
			[]api.Fault{{Match: create, From: 1, Times: 2, Effect: lost},
				{Match: create, Nth: 4, Effect: refusal(api.CodeInternal)}},
			[]api.Code{api.CodeRateLimited, api.CodeRateLimited, "", api.CodeInternal}, []int{2, 1},
		},
		"a-group-that-all-match": {
			[]api.Fault{
				{Group: "g", Match: networks, Nth: 2, Effect: refusal(api.CodeDepleted)},
				{Group: "g", Match: mine, Nth: 2, Effect: refusal(api.CodeDepleted)},
			},
			[]api.Code{"", api.CodeDepleted, "", ""}, []int{1, 0},
		},
		"a-group-of-two-halves": {
			[]api.Fault{
				{Group: "g", Match: api.Match{Identities: []string{"extensions-a"}}, Nth: 2, Effect: refusal(api.CodeDepleted)},
				{Group: "g", Match: api.Match{Identities: []string{"extensions-b"}}, Nth: 2, Effect: refusal(api.CodeDepleted)},
			},
			[]api.Code{"", api.CodeDepleted, "", ""}, []int{0, 1},
		},
		"a-group-with-a-bound": {
			[]api.Fault{
				{Group: "g", Match: mine, From: 2, Times: 2, Effect: refusal(api.CodeDepleted)},
				{Group: "g", Match: networks, From: 2, Times: 2, Effect: refusal(api.CodeDepleted)},
			},
			[]api.Code{"", api.CodeDepleted, api.CodeDepleted, ""}, []int{2, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := start(t, Options{})
			admin, callers := cloud.as(t, "admin"), []*api.Client{cloud.as(t, "extensions-a"), cloud.as(t, "extensions-b")}
			for i, fault := range c.faults {
				fault.ID = strconv.Itoa(i)
				must(admin.SetFault(t.Context(), fault))(t)
			}
			var codes []api.Code
			for i := range c.want {
				_, err := callers[i%2].Networks().Create(t.Context(), &api.Network{CIDR: "10.0.0.0/16"})
				codes = append(codes, api.CodeOf(err))
			}
			if diff := cmp.Diff(c.want, codes); diff != "" {
				t.Error(diff)
			}
			for i := range c.faults {
				healed := must(admin.HealFault(t.Context(), strconv.Itoa(i)))(t)
				if healed.Matched != len(c.want) || healed.Hits != c.hits[i] {
					t.Errorf("fault %d: %d calls matched and it hit %d, want %d and %d", i, healed.Matched, healed.Hits, len(c.want),
						c.hits[i])
				}
			}
		})
	}
}

// Every code comes with a text that names it as a provider would, for extensions that classify texts
// (docs/specification/care.md#spec-5-8).
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	for code, text := range map[api.Code]string{
		api.CodeUnauthenticated:     "authentication failed",
		api.CodeUnauthorized:        "not authorized",
		api.CodeQuotaExceeded:       "NetworkLimitExceeded: Quota exceeded",
		api.CodeRateLimited:         "RequestLimitExceeded: Throttling",
		api.CodeDependencyViolation: "DependencyViolation",
		api.CodeRetryableDependency: "RetryableError",
		api.CodeDepleted:            "insufficient instance capacity",
		api.CodeInvalid:             "invalid value",
		api.CodeNotFound:            "NotFound",
		api.CodeStaleEpoch:          "operation not allowed",
		api.CodeInternal:            "internal server error",
		api.CodeUnavailable:         "ServiceUnavailable",
	} {
		heal := inject(t, cloud, api.Fault{Effect: api.Effect{Error: &api.ErrorEffect{Code: code}}})
		_, err := cloud.as(t, "extensions-a").Networks().Create(t.Context(), &api.Network{CIDR: "10.0.0.0/16"})
		wantCode(t, err, code)
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%s reads %q, want %q in it", code, err, text)
		}
		wantHits(t, heal, 1, 1)
	}
	heal := inject(t, cloud,
		api.Fault{Effect: api.Effect{Error: &api.ErrorEffect{Code: api.CodeInvalid, Reason: "Own", Message: "words"}}})
	if _, err := cloud.as(t, "extensions-a").Networks().List(t.Context(), api.Filter{}); !strings.HasPrefix(err.Error(),
		"Own: words, request id: req-") {
		t.Errorf("an error with own words reads %q", err)
	}
	wantHits(t, heal, 1, 1)
}

func TestQuota(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	client, ctx := cloud.as(t, "extensions-a"), t.Context()
	two := 2
	heal := inject(t, cloud, api.Fault{Match: api.Match{Kinds: []string{api.KindMachines}},
		Effect: api.Effect{Quota: &two}})
	create := func() (*api.Machine, error) { return client.Machines().Create(ctx, &api.Machine{Type: "small"}) }
	first := must(create())(t)
	must(create())(t)
	_, err := create()
	wantCode(t, err, api.CodeQuotaExceeded)
	if err := client.Machines().Delete(ctx, first.ID); err != nil {
		t.Fatal(err)
	}
	must(create())(t) // a terminated machine does not count
	wantHits(t, heal, 4, 1)
	must(create())(t)
}

func TestThrottle(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakeClock(time.Now())
	cloud := start(t, Options{Clock: clock})
	client, ctx := cloud.as(t, "extensions-a"), t.Context()
	heal := inject(t, cloud, api.Fault{Effect: api.Effect{Throttle: &api.ThrottleEffect{PerSecond: 1, Burst: 2}}})
	call := func() api.Code { _, err := client.Networks().List(ctx, api.Filter{}); return api.CodeOf(err) }
	codes := []api.Code{call(), call(), call()}
	clock.Step(time.Second)
	codes = append(codes, call(), call())
	if diff := cmp.Diff([]api.Code{"", "", api.CodeRateLimited, "", api.CodeRateLimited}, codes); diff != "" {
		t.Error(diff)
	}
	wantHits(t, heal, 5, 2)
}

func TestDelay(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakeClock(time.Now())
	cloud := start(t, Options{Clock: clock})
	heal := inject(t, cloud, api.Fault{Effect: api.Effect{Delay: &metav1.Duration{Duration: time.Minute}}})
	client, done := cloud.as(t, "extensions-a"), make(chan error, 1)
	go func() { _, err := client.Networks().List(t.Context(), api.Filter{}); done <- err }()
	eventually(t, "a call waits", clock.HasWaiters)
	select {
	case err := <-done:
		t.Fatalf("the call was answered before its time: %v", err)
	default:
	}
	clock.Step(time.Minute)
	if err := <-done; err != nil {
		t.Error(err)
	}
	wantHits(t, heal, 1, 1)
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// A lost request has no effect and no entry; a lost answer belongs to a call that took effect.
func TestDrops(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	client, ctx := cloud.as(t, "extensions-a"), t.Context()
	for drop, created := range map[api.Drop]int{api.DropRequest: 0, api.DropAnswer: 1} {
		heal := inject(t, cloud, api.Fault{Match: api.Match{Verbs: []string{api.VerbCreate}}, Effect: api.Effect{Drop: drop}})
		_, err := client.Networks().Create(ctx,
			&api.Network{CIDR: "10.0.0.0/16", Tags: map[string]string{"drop": string(drop)}})
		if err == nil || api.CodeOf(err) != "" {
			t.Errorf("drop of the %s ends with %v, want an error of the connection", drop, err)
		}
		wantHits(t, heal, 1, 1)
		if found := must(client.Networks().List(ctx, api.Filter{Tags: map[string]string{"drop": string(drop)}}))(t); len(
			found) != created {
			t.Errorf("drop of the %s: %d networks were made, want %d", drop, len(found), created)
		}
	}
	var lost []api.LedgerEntry
	for _, entry := range cloud.ledgerOf(t) {
		if entry.Kind == api.KindNetworks {
			lost = append(lost, entry)
		}
	}
	if len(lost) != 1 || !lost[0].Took() || lost[0].Fault != "fire" {
		t.Errorf("the ledger has %+v, want one creation whose answer the fault took", lost)
	}
}

func TestObjectFaults(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	bucket, ctx := bucketOf(t, cloud.as(t, "extensions-a")), t.Context()
	for _, key := range []string{"e1/delta-1", "e1/delta-2", "e2/full"} {
		must(bucket.Put(ctx, key, strings.NewReader("content of "+key), api.PutOptions{}))(t)
	}
	keys := func() (keys []string) {
		for object, err := range bucket.All(ctx, "") {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, object.Key)
		}
		return keys
	}
	match := api.Match{Kinds: []string{api.KindObjects}, IDPrefix: "backups/e1/"}

	heal := inject(t, cloud, api.Fault{Match: match, Effect: api.Effect{Damage: true}})
	_, err := bucket.Read(ctx, "e1/delta-1")
	wantCode(t, err, api.CodeDamaged)
	must(bucket.Read(ctx, "e2/full"))(t)
	wantHits(t, heal, 1, 1)

	heal = inject(t, cloud, api.Fault{Match: match, Effect: api.Effect{Missing: true}})
	_, err = bucket.Read(ctx, "e1/delta-1")
	wantCode(t, err, api.CodeNotFound)
	if diff := cmp.Diff([]string{"e2/full"}, keys()); diff != "" {
		t.Error(diff)
	}
	wantHits(t, heal, 3, 3)

	heal = inject(t, cloud, api.Fault{Match: api.Match{Kinds: []string{api.KindObjects}},
		Effect: api.Effect{Error: &api.ErrorEffect{Code: api.CodeUnavailable}}})
	_, err = bucket.Put(ctx, "e1/delta-3", strings.NewReader("x"), api.PutOptions{})
	wantCode(t, err, api.CodeUnavailable)
	wantHits(t, heal, 1, 1)

	// A copy is harmed by what harms a read of its source, or a write of its target; a batch only by what harms its calls.
	source := must(bucket.Head(ctx, "e1/delta-1"))(t)
	copyOf := func() error {
		results, err := bucket.Batch(ctx, []api.BatchCall{{Key: "e3/copy", Copy: &api.CopySource{Bucket: "backups",
			Key: source.Key, Digest: source.Digest}}})
		return errors.Join(append(results, err)...)
	}
	for _, harm := range []struct {
		match  api.Match
		effect api.Effect
		code   api.Code
	}{
		{match, api.Effect{Damage: true}, api.CodeDamaged},
		{match, api.Effect{Missing: true}, api.CodeNotFound},
		{api.Match{Verbs: []string{api.VerbGet}}, api.Effect{Error: &api.ErrorEffect{Code: api.CodeDepleted}},
			api.CodeDepleted},
		{api.Match{IDPrefix: "backups/e3/"}, api.Effect{Error: &api.ErrorEffect{Code: api.CodeDepleted}}, api.CodeDepleted},
		{match, api.Effect{Drop: api.DropRequest}, ""},
		{match, api.Effect{Drop: api.DropAnswer}, ""},
	} {
		heal = inject(t, cloud, api.Fault{Match: harm.match, Effect: harm.effect})
		if err := copyOf(); err == nil || api.CodeOf(err) != harm.code {
			t.Errorf("%+v: the copy ends with %v, want code %q", harm.effect, err, harm.code)
		}
		wantHits(t, heal, 1, 1)
	}

	if got := must(bucket.Read(ctx, "e1/delta-1"))(t); string(got) != "content of e1/delta-1" {
		t.Errorf("healed object reads %q", got)
	}
	if len(keys()) != 3 {
		t.Errorf("healed bucket has %v", keys())
	}
}

// The DNS server has faults of its own: an error is SERVFAIL, a lost question or answer is silence.
func TestNameFaults(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	must(zoneOf(t, cloud.as(t, "extensions-a")).Put(t.Context(), ownerSet("e1"), api.If{}))(t)
	server := serveNames(t, cloud.DNS())
	match := api.Match{Kinds: []string{api.KindNames}, IDPrefix: ownerRecord}
	heal := inject(t, cloud,
		api.Fault{Match: match, Effect: api.Effect{Error: &api.ErrorEffect{Code: api.CodeUnavailable}}})
	if reply := ask(t, "tcp", server, ownerRecord+".", dns.TypeTXT); reply.Rcode != dns.RcodeServerFailure ||
		len(reply.Answer) != 0 {
		t.Errorf("answer is %v, want SERVFAIL", reply)
	}
	if reply := ask(t, "udp", server, "shoots.transplant.test.", dns.TypeSOA); reply.Rcode != dns.RcodeSuccess {
		t.Errorf("another name is answered with %v", reply)
	}
	wantHits(t, heal, 1, 1)
	for _, drop := range []api.Drop{api.DropRequest, api.DropAnswer} {
		heal = inject(t, cloud, api.Fault{Match: match, Effect: api.Effect{Drop: drop}})
		client := &dns.Client{Net: "udp", Timeout: 50 * time.Millisecond}
		if reply, _, err := client.Exchange(new(dns.Msg).SetQuestion(ownerRecord+".", dns.TypeTXT), server); err == nil {
			t.Errorf("drop of the %s is answered with %v", drop, reply)
		}
		eventually(t, "the question has come", func() bool {
			return must(cloud.as(t, "admin").Faults(t.Context()))(t)[0].Hits > 0
		})
		wantHits(t, heal, 1, 1)
	}
	if reply := ask(t, "udp", server, ownerRecord+".", dns.TypeTXT); len(reply.Answer) != 1 {
		t.Errorf("healed server answers %v", reply)
	}
}

// A slow bucket takes as long for a body as its rate says, in either direction.
func TestSlowBucket(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakeClock(time.Now())
	cloud := start(t, Options{Clock: clock})
	bucket, ctx := bucketOf(t, cloud.as(t, "extensions-a")), t.Context()
	content := bytes.Repeat([]byte("x"), 10<<10)
	source := must(bucket.Put(ctx, "source", bytes.NewReader(content), api.PutOptions{}))(t)
	heal := inject(t, cloud, api.Fault{Match: api.Match{Kinds: []string{api.KindObjects}},
		Effect: api.Effect{BytesPerSecond: 1024}})
	for name, transfer := range map[string]func() error{
		"put": func() error {
			_, err := bucket.Put(ctx, "k", bytes.NewReader(content), api.PutOptions{})
			return err
		},
		"head and get": func() error {
			_, err := bucket.Read(ctx, "k")
			if api.IsNotFound(err) {
				return nil
			}
			return err
		},
		"copy": func() error {
			results, err := bucket.Batch(ctx, []api.BatchCall{{Key: "copy", Copy: &api.CopySource{Bucket: "backups",
				Key: "source", Digest: source.Digest}}})
			return errors.Join(append(results, err)...)
		},
	} {
		started, done := clock.Now(), make(chan error, 1)
		go func() { done <- transfer() }()
		for waiting := true; waiting; {
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				waiting = false
			default:
				if clock.HasWaiters() {
					clock.Step(time.Second)
				}
				time.Sleep(100 * time.Microsecond)
			}
		}
		// A read and a write of a copy are one movement.
		if took := clock.Since(started); name != "head and get" && (took < 10*time.Second || took > 19*time.Second) {
			t.Errorf("%s of 10 KiB at 1 KiB a second took %s", name, took)
		}
	}
	wantHits(t, heal, 4, 4)
}

func TestFaultsAreChecked(t *testing.T) {
	t.Parallel()
	admin, ctx := start(t, Options{}).as(t, "admin"), t.Context()
	minus := -1
	for name, effect := range map[string]api.Effect{
		"none":           {},
		"two":            {Damage: true, Missing: true},
		"unknown code":   {Error: &api.ErrorEffect{Code: "Nonsense"}},
		"unknown drop":   {Drop: "everything"},
		"negative quota": {Quota: &minus},
	} {
		_, err := admin.SetFault(ctx, api.Fault{Meta: api.Meta{ID: "f"}, Effect: effect})
		if api.CodeOf(err) != api.CodeInvalid {
			t.Errorf("%s: %v, want code Invalid", name, err)
		}
	}
	if faults := must(admin.Faults(ctx))(t); len(faults) != 0 {
		t.Errorf("faults are set: %v", faults)
	}
}
