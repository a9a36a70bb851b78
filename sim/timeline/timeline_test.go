package timeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/transplant-sim/transplant/sim/timeline"
)

func write(number int) timeline.Event {
	return timeline.Event{Actor: "user", Subject: "alpha", Payload: timeline.Write{
		Number: number, Key: "ns/w-1", Verb: "create", Outcome: timeline.Acknowledged,
		Sent: timeline.Moment(time.Second), Answered: timeline.Moment(1500 * time.Millisecond), ResourceVersion: 7, UID: "u",
	}}
}

func TestJournal_Events_AreStampedAndReadBack(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
	var out bytes.Buffer
	journal := timeline.NewJournal(clock, &out)
	clock.SetTime(time.Unix(1002, 0))
	journal.Record(write(1))
	clock.SetTime(time.Unix(1003, 0))
	journal.Record(timeline.Event{Subject: "a", Payload: timeline.Note{Text: "seed"}})
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	journal.Record(write(2))

	record, err := timeline.Decode(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	first := write(1)
	first.Seq, first.At, first.Kind = 1, 2*time.Second, "Write"
	want := []timeline.Event{first, {Seq: 2, At: 3 * time.Second, Kind: "Note", Subject: "a",
		Payload: timeline.Note{Text: "seed"}}}
	if diff := cmp.Diff(want, record.Events); diff != "" {
		t.Errorf("events read back (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, journal.Events()); diff != "" {
		t.Errorf("events kept (-want +got):\n%s", diff)
	}
	if !record.Started.Equal(time.Unix(1000, 0)) || record.Torn {
		t.Errorf("started %s, torn %t", record.Started, record.Torn)
	}
	if !strings.Contains(out.String(), `"sent":"1s"`) {
		t.Errorf("moments must be readable: %s", out.String())
	}
}

func TestEvent_OfAnEarlierVersion_IsReadAsTodays(t *testing.T) {
	t.Parallel()
	recorded := map[timeline.Kind]int{"Note": 1}
	for _, c := range []struct {
		former, today string
		want          timeline.Payload
	}{
		{`"RunStarted","payload":{"scenario":"s","backend":"b","randomSeed":1,"story":{"a":1}}`,
			`"RunStarted","payload":{"scenario":"s","backend":"b","randomSeed":1,"definition":{"a":1}}`,
			timeline.RunStarted{Scenario: "s", Backend: "b", RandomSeed: 1, Definition: []byte(`{"a":1}`)}},
		{`"ShootSteady","payload":{"technicalID":"t","nodes":2,"objects":3}`,
			`"ShootReady","payload":{"technicalID":"t","nodes":2,"objects":3}`,
			timeline.ShootReady{TechnicalID: "t", Nodes: 2, Objects: 3}},
		{`"FaultHealed","payload":{"fault":"f","touched":7}`, `"FaultHealed","payload":{"fault":"f","hits":7}`,
			timeline.FaultHealed{Fault: "f", Hits: 7}},
		{`"RunEnded","payload":{"broken":"no landscape","recorded":{"ShootSteady":1}}`,
			`"RunEnded","payload":{"error":"no landscape","recorded":{"ShootReady":1}}`,
			timeline.RunEnded{Error: "no landscape", Recorded: map[timeline.Kind]int{"ShootReady": 1}}},
		{`"RunEnded","payload":{"recorded":{"Note":1}}`, `"RunEnded","payload":{"recorded":{"Note":1}}`,
			timeline.RunEnded{Recorded: recorded}},
	} {
		today := `{"seq":1,"at":"1s","kind":` + c.today + `}`
		for _, text := range []string{`{"seq":1,"at":"1s","kind":` + c.former + `}`, today} {
			var event timeline.Event
			if err := json.Unmarshal([]byte(text), &event); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, event.Payload); diff != "" || event.Kind != c.want.Kind() {
				t.Errorf("%s is a %s (-want +got):\n%s", text, event.Kind, diff)
			}
			if again, err := json.Marshal(event); err != nil || string(again) != today {
				t.Errorf("written as %s, %v", again, err)
			}
		}
	}
}

func TestDecodeDamage(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	journal := timeline.NewJournal(testingclock.NewFakePassiveClock(time.Unix(1000, 0)), &out)
	journal.Record(write(1))
	journal.Record(write(2))
	lines := strings.SplitAfter(out.String(), "\n")
	for name, c := range map[string]struct {
		text   string
		events int
		torn   bool
		err    string
	}{
		"whole":                  {text: out.String(), events: 2},
		"torn last line":         {text: out.String()[:out.Len()-20], events: 1, torn: true},
		"last line unterminated": {text: strings.TrimSuffix(out.String(), "\n"), events: 2},
		"torn in the middle":     {text: lines[0] + lines[1][:20] + "\n" + lines[2], err: "line 2: "},
		"a line is missing":      {text: lines[0] + lines[2], err: "line 2: event 2 follows event 0"},
		"no header":              {text: lines[1], err: "line 1: "},
		"empty":                  {text: "", err: "line 1: the header is missing"},
		"other version":          {text: strings.Replace(lines[0], `"version":1`, `"version":2`, 1), err: "line 1: format"},
		"unknown kind": {text: lines[0] + strings.Replace(lines[1], `"kind":"Write"`, `"kind":"Wrote"`, 1) +
			lines[2], err: `unknown kind "Wrote"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record, err := timeline.Decode(strings.NewReader(c.text))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(record.Events) != c.events || record.Torn != c.torn {
				t.Errorf("%d events, torn %t; want %d, %t", len(record.Events), record.Torn, c.events, c.torn)
			}
		})
	}
}

func TestFollow_ManyEvents_MissesNone(t *testing.T) {
	t.Parallel()
	journal := timeline.NewJournal(testingclock.NewFakePassiveClock(time.Unix(0, 0)), nil)
	journal.Record(write(1))
	seen := make(chan int)
	go func() {
		defer close(seen)
		for e := range journal.Follow(t.Context()) {
			seen <- e.Seq
		}
	}()
	var got []int
	got = append(got, <-seen)
	for n := 2; n <= 5; n++ {
		journal.Record(write(n))
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	for n := range seen {
		got = append(got, n)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFollow_ContextEnds_Ends(t *testing.T) {
	t.Parallel()
	journal := timeline.NewJournal(testingclock.NewFakePassiveClock(time.Unix(0, 0)), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range journal.Follow(ctx) {
		t.Error("an event of an empty journal")
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestJournal_DiskIsFull_ReturnsAnError(t *testing.T) {
	t.Parallel()
	journal := timeline.NewJournal(testingclock.NewFakePassiveClock(time.Unix(0, 0)), fullDisk{})
	if err := journal.Close(); err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("Close() = %v", err)
	}
}

// Every type with a method Kind must be in the closed set, under a name of its own, and must survive the file.
func TestKinds_EveryPayload_IsListed(t *testing.T) {
	t.Parallel()
	//nolint:staticcheck // one folder without build tags: the simple way is the right one
	packages, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool {
		return !strings.HasSuffix(f.Name(), "_test.go")
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared, listed []string
	for _, file := range packages["timeline"].Files {
		for _, declaration := range file.Decls {
			if f, is := declaration.(*ast.FuncDecl); is && f.Recv != nil && f.Name.Name == "Kind" {
				declared = append(declared, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	for _, payload := range timeline.Kinds() {
		listed = append(listed, reflect.TypeOf(payload).Name())
		if name := reflect.TypeOf(payload).Name(); string(payload.Kind()) != name {
			t.Errorf("kind of %s is %s", name, payload.Kind())
		}
		content, err := timeline.Event{Kind: payload.Kind(), Payload: payload}.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var back timeline.Event
		if err := back.UnmarshalJSON(content); err != nil {
			t.Errorf("%s: %v", payload.Kind(), err)
		}
	}
	slices.Sort(declared)
	slices.Sort(listed)
	if diff := cmp.Diff(declared, listed); diff != "" {
		t.Errorf("kinds (-declared +listed):\n%s", diff)
	}
}

// synced is a file that notes what it holds when it is synced.
type synced struct {
	bytes.Buffer
	onDisk string
	err    error
}

func (s *synced) Sync() error { s.onDisk = s.String(); return s.err }

func TestJournal_Close_SyncsAll(t *testing.T) {
	t.Parallel()
	file := &synced{}
	journal := timeline.NewJournal(testingclock.NewFakeClock(time.Now()), file)
	journal.Record(timeline.Event{Payload: timeline.Note{Text: "the last"}})
	if err := journal.Close(); err != nil || !strings.Contains(file.onDisk, "the last") || file.onDisk != file.String() {
		t.Errorf("%v, on the disk is %q", err, file.onDisk)
	}
	failure := errors.New("the disk has failed")
	if err := timeline.NewJournal(testingclock.NewFakeClock(time.Now()), &synced{err: failure}).Close(); !errors.Is(err,
		failure) {
		t.Errorf("error %v", err)
	}
}
