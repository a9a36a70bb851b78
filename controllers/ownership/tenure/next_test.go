package tenure

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// today are the answers of Next, whether they are right or not: by who asks, by the phase, by what there is of etcd
// (none, sleeps, runs; rests is none or sleeps, here is sleeps or runs), and by whose the shoot is, in the order of
// owners. docs/adr/0018-tenure.md says which are wrong: "!2" marks one that its row 2 calls so.
//
// "~" marks a cell that cannot be reached. Where a namespace is, or the shoot was once created, DNS has a record: the
// first owner writes it before anything else, and no record goes. Where no epoch is noted, none is "ours", but "anew".
//
// Nobody finds out yet whether another owner has begun, so "claimed" answers as "begun" does. Some facts are not in the
// table, and those who ask look at them beside it:
//   - Reconcile and Delete take the shoot from an owner whose Seed is gone, where "refuse" is.
//   - Delete asks for a restore only if there is a saved state. Else it goes on as a namespace without etcd does.
//   - Migrate hands on only if the source has released the BackupEntry, or was lost. Else it refuses without etcd, and
//     waits for the end with one. It refuses only while the BackupEntry is this seed's.
//   - Restore removes at once if there is nothing to restore. It claims by ownership.Takeover, which reads DNS itself.
var today = []struct {
	asked         Asked
	phase         Phase
	etcd, answers string
}{
	// Create: never      ours       anew       begun      claimed    nobodys    unreadable
	{Create, None, "any", "claim      ~claim     claim      refuse     refuse     claim      refuse"},
	{Create, Abandoned, "any", "~claim     ~claim     claim      remove     remove     remove     refuse"},
	{Create, Claimed, "any", "~claim     claim      claim      remove     remove     remove     refuse"},
	{Create, Deployed, "any", "~claim     claim      claim      remove     remove     remove     refuse"},
	{Create, Begun, "any", "~claim     claim      claim      remove     remove     remove     refuse"},
	{Create, Ended, "any", "~claim     claim      claim      remove     remove     remove     refuse"},
	{Create, Saved, "any", "~claim     claim      claim      remove     remove     remove     refuse"},

	// Reconcile: never      ours       anew       begun      claimed    nobodys    unreadable
	{Reconcile, None, "any", "~restore   ~restore   restore    restore!2  restore    restore    restore"},
	{Reconcile, Abandoned, "none", "~restore   ~restore   restore    restore    restore    restore    restore"},
	{Reconcile, Abandoned, "here", "~claim     ~claim     claim      refuse     refuse     claim      refuse"},
	{Reconcile, Claimed, "none", "~restore   restore    restore    restore    restore    restore    restore"},
	{Reconcile, Claimed, "here", "~claim     claim      claim      refuse     refuse     claim      refuse"},
	{Reconcile, Deployed, "none", "~restore   restore    restore    restore    restore    restore    restore"},
	{Reconcile, Deployed, "here", "~claim     claim      claim      refuse     refuse     claim      refuse"},
	{Reconcile, Begun, "none", "~restore   restore    restore    restore    restore    restore    restore"},
	{Reconcile, Begun, "here", "~claim     claim      claim      refuse!4   refuse     claim      refuse"},
	{Reconcile, Ended, "none", "~restore   restore    restore    restore    restore    restore    restore"},
	{Reconcile, Ended, "here", "~claim     claim!5    claim      refuse!4   refuse     claim      refuse"},
	{Reconcile, Saved, "none", "~restore   restore    restore    restore    restore    restore    restore"},
	{Reconcile, Saved, "here", "~claim     claim      claim      refuse     refuse     claim      refuse"},

	// Restore: never      ours       anew       begun      claimed    nobodys    unreadable
	{Restore, None, "any", "~claim     ~claim     claim      claim      claim      claim      claim"},
	{Restore, Abandoned, "rests", "~claim     ~claim     claim      remove     remove     remove     refuse"},
	{Restore, Abandoned, "runs", "~claim     ~claim     claim      await      await      await      refuse"},
	{Restore, Claimed, "rests", "~claim     claim      claim      remove     remove     remove     refuse"},
	{Restore, Claimed, "runs", "~claim     claim      claim      await      await      await      refuse"},
	{Restore, Deployed, "any", "~claim     claim      claim      remove     remove     remove     refuse"},
	{Restore, Begun, "none", "~claim     claim      claim      remove     remove     remove     refuse"},
	{Restore, Begun, "sleeps", "~claim     claim      claim      remove     remove!3   remove     refuse"},
	{Restore, Begun, "runs", "~claim     claim      claim      await!10   await      await      refuse"},
	{Restore, Ended, "rests", "~claim     claim      claim      remove     remove     remove     refuse"},
	{Restore, Ended, "runs", "~claim     claim      claim      await      await      await      refuse"},
	{Restore, Saved, "rests", "~claim     claim      claim      remove     remove     remove     refuse"},
	{Restore, Saved, "runs", "~claim     claim      claim      await      await      await      refuse"},

	// Migrate: never      ours       anew       begun      claimed    nobodys    unreadable
	{Migrate, None, "any", "~hand-on   ~hand-on   hand-on!8  hand-on!8  hand-on    hand-on    hand-on"},
	{Migrate, Abandoned, "any", "~hand-on   ~hand-on   hand-on    hand-on    hand-on    hand-on    hand-on"},
	{Migrate, Claimed, "none", "~act       act!6      act        act        act        act        act"},
	{Migrate, Claimed, "here", "~act       act        act        act        act        act        act"},
	{Migrate, Deployed, "any", "~act       act        act        act        act        act        act"},
	{Migrate, Begun, "none", "~refuse    refuse     refuse     refuse     refuse     refuse     refuse"},
	{Migrate, Begun, "here", "~await     await      await      await!9    await!9    await!9    await"},
	{Migrate, Ended, "none", "~refuse    refuse     refuse     refuse     refuse     refuse     refuse"},
	{Migrate, Ended, "here", "~await     await      await      await      await      await      await"},
	{Migrate, Saved, "rests", "~act       act        act        act        act        act        act"},
	{Migrate, Saved, "runs", "~await     await      await      await      await      await      await"},

	// Delete: never      ours       anew       begun      claimed    nobodys    unreadable
	{Delete, None, "any", "~restore   ~restore   restore    restore!2  restore    restore    restore"},
	{Delete, Abandoned, "any", "~claim     ~claim     claim      refuse     refuse     claim      refuse"},
	{Delete, Claimed, "any", "~claim     claim      claim      refuse     refuse     claim      refuse"},
	{Delete, Deployed, "any", "~claim     claim      claim      refuse     refuse     claim      refuse"},
	{Delete, Begun, "any", "~claim     claim      claim      refuse     refuse     claim      refuse"},
	{Delete, Ended, "any", "~claim     claim!5    claim      refuse     refuse     claim      refuse"},
	{Delete, Saved, "any", "~claim     claim      claim      refuse     refuse     claim      refuse"},

	// SourceCleanup: never      ours       anew       begun      claimed    nobodys    unreadable
	{SourceCleanup, None, "any", "~remove    ~remove    remove     remove     remove     remove     remove"},
	{SourceCleanup, Abandoned, "any", "~nothing   ~nothing   nothing    remove     remove     remove     refuse"},
	{SourceCleanup, Claimed, "any", "~nothing   nothing    nothing    remove     remove     remove     refuse"},
	{SourceCleanup, Deployed, "any", "~nothing   nothing    nothing    remove     remove     remove     refuse"},
	{SourceCleanup, Begun, "any", "~nothing   nothing    nothing    remove     remove!1   remove     refuse"},
	{SourceCleanup, Ended, "any", "~nothing   nothing    nothing    remove     remove!1   remove     refuse"},
	{SourceCleanup, Saved, "any", "~nothing   nothing    nothing    remove     remove     remove     refuse"},

	// AbandonedCleanup: never      ours       anew       begun      claimed    nobodys    unreadable
	{AbandonedCleanup, None, "any", "~nothing   ~nothing   nothing    nothing    nothing    nothing    nothing"},
	{AbandonedCleanup, Abandoned, "any", "~nothing   ~nothing   nothing    remove     remove     remove     refuse"},
	{AbandonedCleanup, Claimed, "any", "~nothing   nothing    nothing    remove     remove     remove     refuse"},
	{AbandonedCleanup, Deployed, "any", "~nothing   nothing    nothing    remove     remove     remove     refuse"},
	{AbandonedCleanup, Begun, "any", "~nothing   nothing    nothing    remove     remove     remove     refuse"},
	{AbandonedCleanup, Ended, "any", "~nothing   nothing    nothing    remove     remove     remove     refuse"},
	{AbandonedCleanup, Saved, "any", "~nothing   nothing    nothing    remove     remove     remove     refuse"},

	// StateSync: never      ours       anew       begun      claimed    nobodys    unreadable
	{StateSync, None, "any", "~act       ~act       act        act        act        act        act"},
	{StateSync, Abandoned, "any", "~act       ~act       act        act        act        act        act"},
	{StateSync, Claimed, "any", "~act       act        act        act        act        act        act"},
	{StateSync, Deployed, "any", "~act       act        act        act        act        act        act"},
	{StateSync, Begun, "any", "~act       act        act        act        act        act        act"},
	{StateSync, Ended, "any", "~act       act        act        act!7      act!7      act        act"},
	{StateSync, Saved, "any", "~act       act        act        act        act        act        act"},

	// Extension: never      ours       anew       begun      claimed    nobodys    unreadable
	{Extension, None, "any", "~refuse    ~refuse    refuse     refuse     refuse     refuse     refuse"},
	{Extension, Abandoned, "any", "~refuse    ~refuse    refuse     refuse     refuse     refuse     refuse"},
	{Extension, Claimed, "any", "~refuse    act        refuse     refuse     refuse     refuse     refuse"},
	{Extension, Deployed, "any", "~refuse    act        refuse     refuse     refuse     refuse     refuse"},
	{Extension, Begun, "any", "~refuse    act        refuse     refuse     refuse     refuse     refuse"},
	{Extension, Ended, "any", "~refuse    refuse     refuse     refuse     refuse     refuse     refuse"},
	{Extension, Saved, "any", "~refuse    refuse     refuse     refuse     refuse     refuse     refuse"},
}

var owners = []Whose{NeverOwned, Ours, OursAnew, OthersBegun, OthersClaimed, Nobodys, Unreadable}

func TestNext(t *testing.T) {
	t.Parallel()
	pinned, wrong := map[string]bool{}, map[string]bool{}
	for _, line := range today {
		cells := strings.Fields(line.answers)
		if len(cells) != len(owners) {
			t.Fatalf("%s, %s: %d answers, want one for each of %d owners", line.asked, line.phase, len(cells), len(owners))
		}
		for _, etcd := range etcdsOf(line.phase, line.etcd) {
			name := fmt.Sprintf("%s, %s, etcd %s", line.asked, line.phase, etcd)
			if pinned[name] {
				t.Errorf("%s: it is in the table twice", name)
			}
			pinned[name] = true
			here, answers := tenureIn(t, line.phase, etcd), map[Whose]Answer{}
			for i, cell := range cells {
				reachable := strings.TrimPrefix(cell, "~")
				answer, row, marked := strings.Cut(reachable, "!")
				here.Whose = owners[i]
				wrong[row] = marked
				if cannot := line.phase <= Abandoned && here.Whose == Ours || here.Whose == NeverOwned &&
					(line.phase != None || line.asked != Create); cannot != (reachable != cell) || cannot && marked {
					t.Errorf("%s, %d: that %s cannot be reached: %t", name, owners[i], cell, cannot)
				}
				answers[here.Whose] = Answer(answer)
				if got := here.Next(line.asked); got != answers[here.Whose] {
					t.Errorf("%s, %d: got %q, want %q", name, owners[i], got, answer)
				}
			}
			here.Whose = Unread
			checkUnread(t, name, here.Next(line.asked), answers)
		}
	}
	for _, asked := range []Asked{
		Create, Reconcile, Restore, Migrate, Delete, SourceCleanup, AbandonedCleanup, StateSync, Extension,
	} {
		for phase := None; phase <= Saved; phase++ {
			for _, etcd := range etcdsOf(phase, "any") {
				if name := fmt.Sprintf("%s, %s, etcd %s", asked, phase, etcd); !pinned[name] {
					t.Errorf("%s: it is not in the table", name)
				}
			}
		}
	}
	for row := range 10 {
		if !wrong[fmt.Sprint(row+1)] {
			t.Errorf("row %d of the ADR has no cell", row+1)
		}
	}
}

// checkUnread checks that DNS is read exactly if the answer depends on it, and that then nobody acts without it.
func checkUnread(t *testing.T, name string, got Answer, answers map[Whose]Answer) {
	t.Helper()
	want := answers[NeverOwned]
	for _, answer := range answers {
		if answer != want {
			want = Unknown
		}
	}
	if want == Unknown && answers[Unreadable] != Refuse {
		t.Errorf("%s: it is %q while DNS cannot be read", name, answers[Unreadable])
	}
	if answers[OthersClaimed] != answers[OthersBegun] {
		t.Errorf("%s: the answer depends on whether another has begun, and nobody finds that out", name)
	}
	if got != want {
		t.Errorf("%s: before DNS is read, got %q, want %q", name, got, want)
	}
}

// etcdsOf are the states of etcd that there can be in the phase, and which the text stands for.
func etcdsOf(phase Phase, text string) []string {
	etcds := []string{"none", "sleeps", "runs"}
	switch phase {
	case None:
		etcds = etcds[:1]
	case Deployed:
		etcds = etcds[:2] // one that runs has begun
	}
	return slices.DeleteFunc(etcds, func(etcd string) bool {
		return text != "any" && text != etcd && (text != "rests" || etcd == "runs") && (text != "here" || etcd == "none")
	})
}

// tenureIn is that of epoch 4. While nothing of it can run, etcd is that of the epoch before.
func tenureIn(t *testing.T, phase Phase, etcd string) Tenure {
	t.Helper()
	var namespace *corev1.Namespace
	epoch := "4"
	switch phase {
	case None:
	case Abandoned:
		namespace = namespaceWith(nil)
	case Claimed:
		epoch = "3"
		fallthrough
	default:
		namespace = noted("4", phase.String())
	}
	var set *appsv1.StatefulSet
	if etcd != "none" {
		set = etcdWith(ptr.To[int32](0), map[string]string{"transplant.dev/epoch": epoch})
		if etcd == "runs" {
			set.Spec.Replicas = nil
		}
	}
	here, err := Of(namespace, set)
	if err != nil || here.Phase != phase {
		t.Fatalf("got phase %s, %v; want %s", here.Phase, err, phase)
	}
	return here
}

// Whether an epoch has begun is known when its etcd is gone, too: there may be what no backup has. A hibernated etcd
// has begun if a migration can wake it up.
func TestNext_Migrate_EndIsAwaitedWhereEtcdMayHaveRun(t *testing.T) {
	t.Parallel()
	runs := func(epoch int64) Etcd { return Etcd{Exists: true, Epoch: epoch, Runs: true} }
	hibernated := func(epoch int64) Etcd { return Etcd{Exists: true, Epoch: epoch} }
	for name, c := range map[string]struct {
		here     Tenure
		wakeable bool
		want     Answer
	}{
		"its etcd runs":              {here: Tenure{Epoch: 4, Phase: Begun, Etcd: runs(4)}, want: AwaitEnd},
		"that of a newer epoch runs": {here: Tenure{Epoch: 4, Phase: Begun, Etcd: runs(5)}, want: AwaitEnd},
		"that of an older epoch runs": {
			here: Tenure{Epoch: 4, Phase: Claimed, Etcd: runs(3)}, wakeable: true, want: Act,
		},
		"that of an older epoch runs, noted": {here: Tenure{Epoch: 4, Phase: Begun, Etcd: runs(3)}, want: AwaitEnd},
		"hibernated, nobody can wake it":     {here: Tenure{Epoch: 4, Phase: Deployed, Etcd: hibernated(4)}, want: Act},
		"hibernated, with its API server": {
			here: Tenure{Epoch: 4, Phase: Deployed, Etcd: hibernated(4)}, wakeable: true, want: AwaitEnd,
		},
		"hibernated, and has run": {here: Tenure{Epoch: 4, Phase: Begun, Etcd: hibernated(4)}, want: AwaitEnd},
		"hibernated since an older epoch": {
			here: Tenure{Epoch: 4, Phase: Claimed, Etcd: hibernated(3)}, wakeable: true, want: Act,
		},
		"its etcd is gone":                     {here: Tenure{Epoch: 4, Phase: Begun}, want: Refuse},
		"no etcd was ever here":                {here: Tenure{Epoch: 4, Phase: Claimed}, want: Act},
		"no etcd was ever here, an API server": {here: Tenure{Epoch: 4, Phase: Claimed}, wakeable: true, want: Act},
		"ended, and its etcd is gone":          {here: Tenure{Epoch: 4, Phase: Ended}, want: Refuse},
		"ended, not begun":                     {here: Tenure{Epoch: 4, Phase: Saved}, want: Act},
		"ended, and its etcd runs unnoted":     {here: Tenure{Epoch: 4, Phase: Saved, Etcd: runs(4)}, want: AwaitEnd},
		"the namespace says no epoch":          {here: Tenure{Phase: Abandoned}, want: HandOn},
		"nothing is here":                      {want: HandOn},
	} {
		c.here.Etcd.Wakeable = c.wakeable
		if got := c.here.Next(Migrate); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
