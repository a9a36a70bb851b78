package oracle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

func ack(number int, key string, sent, answered float64, version int64) timeline.Event {
	return by("user", "alpha", timeline.Write{
		Number: number, Key: key, Verb: "create", Outcome: timeline.Acknowledged,
		Sent: seconds(sent), Answered: seconds(answered), ResourceVersion: version, UID: "u-" + key,
	})
}

func patched(number int, key string, outcome timeline.Outcome, sent, answered float64, version int64) timeline.Event {
	return by("user", "alpha", timeline.Write{
		Number: number, Key: key, Verb: "patch", Outcome: outcome, Sent: seconds(sent), Answered: seconds(answered),
		ResourceVersion: version,
	})
}

// refused is a patch that is answered with a status.
func refused(number int, key string, status int, sent, answered float64) timeline.Event {
	return by("user", "alpha", timeline.Write{
		Number: number, Key: key, Verb: "patch", Outcome: timeline.Failed, Sent: seconds(sent), Answered: seconds(answered),
		Status: status,
	})
}

func read(key string, number int, sent, answered float64, version int64) timeline.Event {
	return by("user", "alpha", timeline.Read{Key: key, Outcome: timeline.Acknowledged, Number: number, Sent: seconds(sent),
		Answered: seconds(answered), ResourceVersion: version})
}

// cached is a read from memory; nobody answers it if there is no version.
func cached(sent float64, version int64) timeline.Event {
	return by("user", "alpha", timeline.CachedRead{Outcome: timeline.Acknowledged, Sent: seconds(sent),
		Answered: seconds(sent + 0.1), ResourceVersion: version})
}

// cachedFor is a read from memory that nobody answers.
func cachedFor(sent float64, outcome timeline.Outcome) timeline.Event {
	return by("user", "alpha", timeline.CachedRead{Outcome: outcome, Sent: seconds(sent), Answered: seconds(sent + 2),
		Error: "no"})
}

func data(keys ...timeline.DataKey) timeline.Event { return of("alpha", timeline.DataSeen{Keys: keys}) }

func holds(key string, number int, version int64) timeline.DataKey {
	return timeline.DataKey{Key: key, Number: number, UID: "u-" + key, ResourceVersion: version}
}

func loaded(perSecond int) timeline.Event {
	return of("alpha", timeline.StepStarted{Verb: "load", WritesPerSecond: perSecond})
}

func settled() timeline.Event { return of("", timeline.Settled{Converged: true}) }

func TestNoLostWrite(t *testing.T) {
	t.Parallel()
	check(t, oracle.NoLostWrite{}, map[string]row{
		"all there": {events: history(steady(0), ack(1, "w-1", 1, 2, 5), ack(2, "w-2", 2, 3, 6),
			data(holds("w-1", 1, 5), holds("w-2", 2, 6)))},
		"a key is absent": {
			events: history(steady(0), ack(1, "w-1", 1, 2, 5), ack(2, "w-2", 2, 3, 6), data(holds("w-1", 1, 5))),
			want:   "acknowledged write 2 to w-2 is lost: the key is absent",
		},
		"a key is older": {
			events: history(steady(0), ack(1, "r-0", 1, 2, 5), patched(2, "r-0", timeline.Acknowledged, 2, 3, 6),
				data(holds("r-0", 1, 5))),
			want: "acknowledged write 2 to r-0 is lost: the key holds an older write",
		},
		"an unknown write may be there": {events: history(steady(0), ack(1, "r-0", 1, 2, 5),
			patched(2, "r-0", timeline.Unknown, 2, 3, 0), data(holds("r-0", 2, 6)))},
		"or not": {events: history(steady(0), ack(1, "r-0", 1, 2, 5),
			patched(2, "r-0", timeline.Unknown, 2, 3, 0), data(holds("r-0", 1, 5)))},
		"nobody wrote the key": {events: history(steady(0), ack(1, "w-1", 1, 2, 5),
			data(holds("w-1", 1, 5), holds("w-9", 9, 6))), want: "w-9 is there, but nobody wrote it"},
		"nobody wrote the number": {events: history(steady(0), ack(1, "w-1", 1, 2, 5), data(holds("w-1", 7, 5))),
			want: "w-1 holds 7, which nobody wrote to it"},
		"created anew": {
			events: history(steady(0), ack(1, "w-1", 1, 2, 5), data(timeline.DataKey{Key: "w-1", Number: 1, UID: "other"})),
			want:   "is another object (uid other)",
		},
		"the data was not read": {events: history(steady(0), ack(1, "w-1", 1, 2, 5)), lacks: "the data of alpha"},
		"nothing acknowledged":  {events: history(steady(0), data()), lacks: "acknowledged writes"},
		"created again": {events: history(steady(0), seen(shoot("a", "a", "Create", "Succeeded")), ack(1, "w-1", 1, 2, 5),
			seen(timeline.ShootSeen{Absent: true}),
			seen(shoot("a", "a", "Create", "Succeeded")), ack(1, "w-1", 5, 6, 5), steady(0), data(holds("w-1", 1, 5)))},
		"created again and lost": {events: history(steady(0), seen(shoot("a", "a", "Create", "Succeeded")),
			ack(1, "w-1", 1, 2, 5), seen(timeline.ShootSeen{Absent: true}),
			seen(shoot("a", "a", "Create", "Succeeded")), ack(2, "w-2", 5, 6, 5), steady(0), data()),
			want: "acknowledged write 2 to w-2 is lost"},
		"a load that hardly writes": {
			events: history(steady(0), loaded(2), ack(1, "w-1", 2.5, 3, 5), settled(), data(holds("w-1", 1, 5))),
			lacks:  "the load of alpha as it was asked for: 1 of 4 writes (2 a second for 2s) were tried, and 1 acknowledged",
		},
		"a load that finds nobody": {
			events: history(steady(0), loaded(1), ack(1, "w-1", 2.5, 3, 5), patched(2, "w-1", timeline.Failed, 3, 4, 0),
				settled(), data(holds("w-1", 1, 5))),
		},
		"a load that ends with its shoot": {
			events: history(steady(0), loaded(1), ack(1, "w-1", 2.5, 3, 5), step("delete"),
				seen(timeline.ShootSeen{Absent: true}), of("", timeline.Note{}), settled()),
		},
		"a load that goes on after a deletion is refused": {
			events: history(steady(0), loaded(1), ack(1, "w-1", 2.5, 3, 5),
				of("alpha", timeline.StepStarted{Verb: "delete", Refused: true}), of("", timeline.Note{}), settled(),
				data(holds("w-1", 1, 5))),
			lacks: "1 of 4 writes",
		},
		"the shoot was deleted": {events: history(steady(0), ack(1, "w-1", 1, 2, 5),
			of("alpha", timeline.ShootSeen{Absent: true}))},
	})
}

// A checker that has run out of time has proved nothing.
func TestLinearizableSaysWhatItCouldNotDecide(t *testing.T) {
	t.Parallel()
	events := []timeline.Event{steady(0), ack(1, "r-0", 1, 2, 5)}
	for number := range 60 {
		events = append(events, patched(number+2, "r-0", timeline.Unknown, 2, 3, 0))
	}
	events = history(append(events, data(holds("r-0", 99, 6)))...) // it would look at every order of any of them
	hurried := oracle.Linearizable{Within: 10 * time.Millisecond}
	if lacks := hurried.Lacks(events); len(lacks) != 1 || !strings.Contains(lacks[0],
		"the 62 reads and writes of r-0 of alpha") {
		t.Errorf("it lacks %q", lacks)
	}
	if violations := hurried.Judge(events); len(violations) > 0 {
		t.Errorf("undecided, it finds %v", violations)
	}
}

func TestLinearizable(t *testing.T) {
	t.Parallel()
	check(t, oracle.Linearizable{}, map[string]row{
		"in order": {events: history(steady(0), ack(1, "r-0", 1, 2, 5), read("r-0", 1, 3, 4, 5),
			patched(2, "r-0", timeline.Acknowledged, 5, 6, 6), data(holds("r-0", 2, 6)))},
		"a read of the past": {
			events: history(steady(0), ack(1, "r-0", 1, 2, 5), patched(2, "r-0", timeline.Acknowledged, 3, 4, 6),
				read("r-0", 1, 5, 6, 5), data(holds("r-0", 2, 6))),
			want: "no order of the 4 reads and writes of r-0",
		},
		"a read beside a write": {events: history(steady(0), ack(1, "r-0", 1, 2, 5),
			patched(2, "r-0", timeline.Acknowledged, 3, 6, 6), read("r-0", 1, 4, 5, 5), data(holds("r-0", 2, 6)))},
		"an unknown write takes effect later": {events: history(steady(0), ack(1, "r-0", 1, 2, 5),
			patched(2, "r-0", timeline.Unknown, 2, 3, 0), read("r-0", 1, 3, 4, 5), data(holds("r-0", 2, 6)))},
		"lost at the end": {events: history(steady(0), ack(1, "w-1", 1, 2, 5), ack(2, "w-2", 1, 2, 6),
			data(holds("w-2", 2, 6))), want: "of w-1"},
		"a refused write took effect": {events: history(steady(0), ack(1, "r-0", 1, 2, 5),
			patched(2, "r-0", timeline.Failed, 2, 3, 0), data(holds("r-0", 2, 6))), want: "of r-0"},
	})
}

func versions(source string, gone bool, seen ...int64) timeline.Event {
	return by("user", "alpha", timeline.VersionsSeen{Resource: "configmaps", Source: source, Versions: seen, Gone: gone})
}

func TestRevisions(t *testing.T) {
	t.Parallel()
	check(t, oracle.Revisions{}, map[string]row{
		"they grow": {events: history(steady(0), versions("list", false, 5), versions("watch", false, 6, 9),
			versions("watch", false, 1_000_009))},
		"they go back": {events: history(steady(0), versions("list", false, 5), versions("watch", false, 6, 9),
			versions("watch", false, 8)), want: `saw configmaps at resource version 8, by watch, after it had seen 9`},
		"they go back within a list": {events: history(steady(0), versions("watch", false, 6, 5)),
			want: "at resource version 5"},
		"the client was asked to start over": {events: history(steady(0), versions("list", false, 9),
			versions("list", true, 5), versions("watch", false, 6))},
		"the next owner asked it to": {events: history(steady(0), epoch("a", 1, 5, 1, 100), versions("list", false, 101),
			epoch("b", 2, 5, 4, 1_000_000_100), versions("list", true, 1_000_000_101))},
		"the client never comes to the next owner": {events: history(steady(0), epoch("a", 1, 5, 1, 100),
			versions("list", false, 101), epoch("b", 2, 5, 2, 1_000_000_100), versions("watch", false, 102)),
			lacks: "resource versions that a client of alpha has seen of epoch 2"},
		"nor does it to a sleeping one": {events: history(steady(0), epoch("a", 1, 5, 1, 100), versions("list", false, 101),
			epoch("b", 2, 5, 2, 1_000_000_100),
			seen(timeline.ShootSeen{Hibernated: true, WantsToSleep: true}))},
		"the revisions of the next owner are not known": {events: history(steady(0), epoch("a", 1, 5, 1, 100),
			versions("list", false, 101), epoch("b", 2, 5, 3, 0), versions("list", true, 1_000_000_101))},
		"the next owner did not ask it to": {
			events: history(steady(0), epoch("a", 1, 5, 1, 100), versions("list", false, 101),
				epoch("b", 2, 5, 4, 1_000_000_100), versions("watch", false, 1_000_000_101, 1_000_000_102)),
			want: `went on from the configmaps of epoch 1 to resource version 1000000101 of epoch 2, and was not asked to ` +
				`start over`,
		},
		"nor did one without a bump": {
			events: history(steady(0), epoch("a", 1, 5, 1, 90), versions("list", false, 91), versions("watch", false, 110),
				epoch("b", 2, 5, 4, 99), versions("watch", false, 111), epoch("b", 2, 5, 6, 120)),
			want: `to resource version 111 of epoch 2`,
		},
		"two clients": {events: history(steady(0), versions("list", false, 9),
			by("other", "alpha", timeline.VersionsSeen{Resource: "configmaps", Versions: []int64{5}}))},
		"created again": {events: history(steady(0), seen(shoot("a", "a", "Create", "Succeeded")),
			versions("list", false, 50), ack(1, "r-0", 1, 2, 60),
			seen(timeline.ShootSeen{Absent: true}), seen(shoot("a", "a", "Create", "Succeeded")), versions("list", false, 5),
			ack(1, "r-0", 5, 6, 7), steady(0))},
		"deleted": {events: history(steady(0), seen(shoot("a", "a", "Create", "Succeeded")), versions("list", false, 5),
			seen(timeline.ShootSeen{Absent: true}))},
		"deleted, and nobody has seen how it began": {events: history(seen(shoot("a", "a", "Create", "Succeeded")),
			versions("list", false, 5),
			seen(timeline.ShootSeen{Absent: true}), steady(0)), lacks: "the beginning of alpha"},
		"a key goes back": {events: whole(steady(0), versions("list", false, 5), ack(1, "r-0", 1, 2, 9),
			read("r-0", 1, 3, 4, 8)), want: "r-0 was at resource version 8, though a client had seen 9"},
		"a key goes back, and nobody can write until the record is cut off": {events: history(steady(0),
			versions("list", false, 5), ack(1, "r-0", 1, 2, 9), read("r-0", 1, 3, 4, 8))},
		"a restore has lost the write": {events: history(steady(0), versions("list", false, 5), ack(1, "r-0", 1, 2, 8),
			patched(2, "r-0", timeline.Acknowledged, 3, 4, 9),
			read("r-0", 1, 5, 8, 8), ack(3, "w-3", 6, 7, bump+20), read("r-0", 1, 9, 10, 8))},
		"two restores have": {events: history(steady(0), versions("list", false, 5), ack(1, "r-0", 1, 2, 8),
			patched(2, "r-0", timeline.Acknowledged, 3, 4, bump+9),
			read("r-0", 1, 5, 8, 8), ack(3, "w-3", 6, 7, 2*bump+20))},
		"a key goes back before the restore": {events: history(steady(0), versions("list", false, 5), ack(1, "r-0", 1, 2, 9),
			read("r-0", 1, 3, 4, 8), ack(2, "w-2", 4, 5, 12), ack(3, "w-3", 6, 7, bump+20)),
			want: "r-0 was at resource version 8, though a client had seen 9"},
		"a key goes back behind the restore": {events: whole(steady(0), versions("list", false, 5), ack(1, "r-0", 1, 2, 9),
			ack(2, "r-0", 3, 4, bump+20), read("r-0", 1, 5, 6, 9)),
			want: "r-0 was at resource version 9, though a client had seen 1000000020"},
		"a key read beside a write": {events: history(steady(0), versions("list", false, 5), ack(1, "r-0", 1, 4, 9),
			read("r-0", 1, 3, 5, 8))},
	})
}

func epoch(seed string, number int64, remaining, sent float64, revision int64) timeline.Event {
	state := "Serving"
	if remaining == 0 {
		state = "Suspended"
	}
	return by("observer", "alpha", timeline.EpochSeen{
		Seed: seed, Epoch: number, State: state, Remaining: timeline.Length(time1(remaining)), Sent: seconds(sent),
		Answered: seconds(sent + 0.1), Revision: revision,
	})
}

// called is the event, of a shoot of another name.
func called(shoot string, e timeline.Event) timeline.Event {
	e.Subject = shoot
	return e
}

// keeping is a load with a reader that keeps its address.
func keeping() timeline.Event {
	return of("alpha", timeline.StepStarted{Verb: "load", KeepAddress: true})
}

// bump is what a restore adds to the revision.
const bump = 1_000_000_000

func TestSingleWriter(t *testing.T) {
	t.Parallel()
	check(t, oracle.SingleWriter{}, map[string]row{
		"handed over": {events: history(steady(0),
			epoch("a", 1, 5, 1, 100), ack(1, "w-1", 1, 2, 101), epoch("a", 1, 5, 3, 105), epoch("a", 1, 0, 4, 0),
			epoch("b", 2, 5, 6, bump+105), ack(2, "w-2", 6, 7, bump+106), epoch("a", 1, 0, 8, 0))},
		"both valid": {
			events: history(steady(0), epoch("a", 1, 5, 1, 100), epoch("b", 2, 5, 6, bump), epoch("a", 1, 2, 7, 0)),
			want:   "epoch 1 on seed a says that it is valid, though epoch 2 has been valid since 6.1s",
		},
		"asked before, answered after": {events: history(steady(0), epoch("a", 1, 5, 6, 100), epoch("b", 2, 5, 6, bump))},
		"the old one commits": {
			events: history(steady(0), epoch("a", 1, 5, 1, 100), epoch("b", 2, 5, 6, bump), epoch("a", 1, 0, 7, 110),
				epoch("a", 1, 0, 8, 111)),
			want: "epoch 1 on seed a commits (revision 111 after 110), though epoch 2",
		},
		"the old one is read": {
			events: history(steady(0), epoch("a", 1, 5, 1, 100), epoch("b", 2, 5, 6, bump), epoch("a", 1, 0, 7, 110),
				epoch("a", 1, 0, 8, 110)),
			want: "epoch 1 on seed a is read (revision 110), though epoch 2 has been valid since 6.1s",
		},
		"the old one was read in time": {events: history(steady(0), epoch("a", 1, 5, 1, 100), epoch("a", 1, 0, 6, 110),
			epoch("b", 2, 5, 6, bump))},
		"the old one answers": {
			events: history(steady(0), epoch("a", 1, 5, 1, 100), epoch("b", 2, 5, 6, bump+100), ack(1, "w-1", 6, 7, bump+101),
				ack(2, "w-2", 8, 9, 103)),
			want: "write 2 was sent at 8s, after the first answer of epoch 2, and answered by epoch 1 (revision 103)",
		},
		"sent before, answered late": {events: history(steady(0), epoch("a", 1, 5, 1, 100), epoch("b", 2, 5, 6, bump+100),
			ack(2, "w-2", 5, 9, 103), ack(1, "w-1", 6, 7, bump+101))},
		"two histories without a bump": {
			events: history(steady(0), epoch("a", 1, 5, 1, 100), ack(1, "w-1", 1, 2, 103), epoch("b", 2, 5, 6, 100),
				ack(2, "w-2", 6, 7, 102)),
			want: "two histories",
		},
		"the old one refuses": {
			events: history(steady(0), epoch("a", 1, 5, 1, 100), ack(1, "r-0", 1, 2, 101), epoch("b", 2, 5, 6, bump+100),
				patched(2, "r-0", timeline.Acknowledged, 6, 7, bump+101),
				refused(3, "r-0", 409, 8, 9), ack(4, "w-4", 10, 11, bump+102)),
			want: "write 3 to r-0 was sent at 8s and refused with status 409, though write 2 had been answered with revision " +
				"1000000101, and its store goes on (write 4, revision 1000000102): two histories",
		},
		"the old one has no such key": {
			events: history(steady(0), epoch("a", 1, 5, 1, 100), epoch("b", 2, 5, 6, bump+100), ack(1, "r-0", 6, 7, bump+101),
				refused(2, "r-0", 404, 8, 9), ack(3, "w-3", 10, 11, bump+102)),
			want: "write 2 to r-0 was sent at 8s and refused with status 404",
		},
		"a restore has lost what is patched": {events: history(steady(0), epoch("a", 1, 5, 1, 100), ack(1, "r-0", 1, 2, 101),
			patched(2, "r-0", timeline.Acknowledged, 3, 4, 102),
			epoch("b", 2, 5, 6, bump+100), refused(3, "r-0", 409, 7, 8), ack(4, "w-4", 9, 10, bump+102))},
		"an etcd was restored meanwhile": {events: history(steady(0), epoch("a", 1, 5, 1, 100), ack(1, "r-0", 1, 2, 101),
			refused(2, "r-0", 404, 3, 4), ack(3, "w-3", 5, 6, bump+102))},
		"refused beside the restore": {events: history(steady(0), epoch("a", 1, 5, 1, 100), ack(1, "r-0", 1, 2, 101),
			refused(2, "r-0", 409, 3, 6), ack(3, "w-3", 4, 5, 102), ack(4, "w-4", 7, 8, bump+102))},
		"refused for another reason": {events: history(steady(0), epoch("a", 1, 5, 1, 100), ack(1, "r-0", 1, 2, 101),
			refused(2, "r-0", 403, 3, 4), ack(3, "w-3", 5, 6, 102))},
		"the link refuses": {events: history(steady(0), epoch("a", 1, 5, 1, 100), ack(1, "r-0", 1, 2, 101),
			refused(2, "r-0", 0, 3, 4), ack(3, "w-3", 5, 6, 102))},
		"created again": {events: history(steady(0), seen(shoot("b", "b", "Restore", "Succeeded")), epoch("b", 2, 5, 1, bump),
			ack(1, "w-1", 1, 2, bump+1),
			seen(timeline.ShootSeen{Absent: true}), seen(shoot("a", "a", "Create", "Succeeded")), epoch("a", 1, 5, 6, 10),
			ack(1, "w-1", 6, 7, 11), steady(0))},
		"an epoch of two seeds": {
			events: history(steady(0), epoch("a", 1, 5, 1, 100), epoch("b", 1, 5, 9, 50)),
			want:   "epoch 1 is valid on seed b, though it was seed a's",
		},
		"the old one answers from its memory": {
			events: history(steady(0), epoch("a", 1, 5, 1, 100), cached(2, 104), epoch("b", 2, 5, 6, bump), cached(7, 105),
				cached(8, 105), cached(9, bump+7)),
			want: "a read that was sent at 7s was answered by epoch 1 from its memory (revision 105), though epoch 2 has " +
				"been valid since 6.1s",
		},
		"from its memory before the new one": {events: history(steady(0), epoch("a", 1, 5, 1, 100), cached(5, 105),
			epoch("b", 2, 5, 6, bump), cached(7, bump+7), cached(8, 0))},
		"nobody asked the memory since": {events: history(steady(0), epoch("a", 1, 5, 1, 100), cached(5, 105),
			epoch("b", 2, 5, 6, bump)),
			lacks: "an answer or a refusal at the address that alpha's name first had since epoch 2 is valid"},
		"nobody is asked though a load was to": {events: history(steady(0), keeping(), epoch("a", 1, 5, 1, 100)),
			lacks: "any answer at the address that alpha's name first had"},
		"nobody answers in time after the heal": {events: history(steady(0), keeping(), epoch("a", 1, 5, 1, 100),
			cached(2, 104), epoch("b", 2, 5, 6, bump), cachedFor(7, timeline.Failed),
			of("freeze", timeline.FaultHealed{}), cachedFor(6.5, timeline.Failed), cachedFor(10, timeline.Unknown)),
			lacks: "an answer or a refusal at the address that alpha's name first had since epoch 2 is valid and the last " +
				"fault is healed"},
		"refused after the heal": {events: history(steady(0), keeping(), epoch("a", 1, 5, 1, 100), cached(2, 104),
			epoch("b", 2, 5, 6, bump), cachedFor(7, timeline.Unknown),
			of("freeze", timeline.FaultHealed{}), cachedFor(10, timeline.Failed))},
		"answered after the heal": {events: history(steady(0), keeping(), epoch("a", 1, 5, 1, 100), cached(2, 104),
			epoch("b", 2, 5, 6, bump), of("freeze", timeline.FaultHealed{}), cached(10, bump+7))},
		"a reader of a former version, unannounced": {events: history(steady(0), loaded(0), epoch("a", 1, 5, 1, 100),
			cached(2, 104), epoch("b", 2, 5, 6, bump), of("freeze", timeline.FaultHealed{}), cachedFor(10, timeline.Failed))},
		"a reader of the life before": {events: history(steady(0), seen(shoot("a", "a", "Create", "Succeeded")), keeping(),
			epoch("a", 1, 5, 1, 100), cached(2, 104), seen(timeline.ShootSeen{Absent: true}),
			seen(shoot("a", "a", "Create", "Succeeded")), epoch("a", 1, 5, 8, 100), epoch("b", 2, 5, 9, bump), steady(0))},
		"nobody looked in the end": {events: history(steady(0), epoch("a", 1, 5, 1, 100), of("", timeline.Settling{}),
			settled()), lacks: "a control plane of alpha in the end"},
		"somebody looked in the end": {events: history(steady(0), epoch("a", 1, 5, 1, 100), of("", timeline.Settling{}),
			epoch("a", 1, 5, 5, 110), settled())},
		"nobody looked at a sleeping one": {events: history(steady(0), epoch("a", 1, 5, 1, 100),
			seen(timeline.ShootSeen{Hibernated: true}), of("", timeline.Settling{}), settled())},
		"nobody ever answered from memory": {events: history(steady(0), epoch("a", 1, 5, 1, 100), cached(2, 0)),
			lacks: "any answer at the address that alpha's name first had"},
		"no epoch is no old one": {events: history(steady(0), epoch("a", 1, 5, 1, 100), epoch("b", 2, 5, 6, bump),
			epoch("a", 0, 0, 7, 110), epoch("a", 0, 5, 8, 111), epoch("b", 0, 5, 9, 0))},
		"a shoot whose name is about reading": {
			events: history(of("is read", timeline.ShootReady{}), called("is read", epoch("a", 1, 5, 1, 100)),
				called("is read", epoch("b", 2, 5, 6, bump)),
				called("is read", epoch("a", 1, 0, 7, 110)), called("is read", epoch("a", 1, 0, 8, 111)),
				called("is read", epoch("a", 1, 0, 9, 112))),
			want: "commits (revision 111 after 110)",
		},
		"no epochs": {events: history(steady(0), ack(1, "w-1", 1, 2, 103)), lacks: "the owner epochs of alpha"},
		"no store was read": {
			events: history(steady(0), epoch("a", 1, 5, 1, 0), ack(1, "w-1", 1, 2, 103), epoch("b", 2, 5, 6, 0),
				ack(2, "w-2", 8, 9, 104)),
			lacks: "the revisions of any store of alpha",
		},
		"the new owner was not seen": {
			events: history(steady(0), epoch("a", 1, 5, 1, 100), epoch("b", 2, 0, 6, 0),
				seen(shoot("b", "b", "Restore", "Succeeded"))),
			lacks: "a valid owner of alpha on seed b",
		},
	})
}
