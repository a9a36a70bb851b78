package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/report/serve"
	"github.com/transplant-sim/transplant/sim/report/serve/servetest"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// recording is a run that a test records while it is served.
type recording struct {
	t       *testing.T
	folder  string
	file    *os.File
	journal *timeline.Journal
	release func() // as its process does when it ends
}

func begin(t *testing.T, folder string) *recording {
	t.Helper()
	release, err := timeline.Hold(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	file, err := os.Create(filepath.Join(folder, timeline.FileName))
	if err != nil {
		t.Fatal(err)
	}
	one := &recording{t, folder, file, timeline.NewJournal(clock.RealClock{}, file), release}
	one.record(timeline.RunStarted{Scenario: filepath.Base(folder), Backend: "small",
		Definition: json.RawMessage(`{"metadata":{"name":"tale"},"spec":{"why":"to be <b>seen</b>"}}`)})
	return one
}

func (o *recording) record(p timeline.Payload) { o.journal.Record(timeline.Event{Payload: p}) }

func (o *recording) end() {
	o.t.Helper()
	o.record(timeline.Settled{Converged: true})
	o.record(timeline.RunEnded{})
	if err := errors.Join(o.journal.Close(), o.file.Close()); err != nil {
		o.t.Fatal(err)
	}
	judged, events, err := verdict.JudgeFolder(o.folder)
	if err != nil {
		o.t.Fatal(err)
	}
	if err := verdict.Write(o.folder, judged, events); err != nil {
		o.t.Fatal(err)
	}
	o.release()
}

func get(t *testing.T, address string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(content)
}

func TestTheListAndTheReports(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	begin(t, filepath.Join(root, "one")).end()
	begin(t, filepath.Join(root, "catalogue", "two #2?")).end()
	begin(t, filepath.Join(root, "goes-on"))
	begin(t, filepath.Join(root, "killed")).release()
	if err := os.MkdirAll(filepath.Join(root, "unreadable"), 0o755); err != nil {
		t.Fatal(err)
	}
	unreadable := filepath.Join(root, "unreadable", timeline.FileName)
	if err := os.WriteFile(unreadable, []byte("no timeline\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := servetest.Start(t, root)
	_, list := get(t, at)
	for _, want := range []string{`href="/run/one"`, `href="/run/catalogue/two%20%232%3F"`, ">Running<", ">Aborted<",
		">Passed<", ">Unreadable<"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %s:\n%s", want, list)
		}
	}
	for path, want := range map[string]string{
		"run/one":                     "Every promise was kept",
		"run/catalogue/two%20%232%3F": "to be &lt;b&gt;seen&lt;/b&gt;",
		"run/goes-on":                 `data-follow="/more/goes-on"`,
		"more/goes-on?after=0":        `"judged":false`,
		"more/one?after=0":            `"judged":true`,
		"more/killed?after=0":         `"verdict":"Aborted"`,
		"compare?run=one&run=goes-on": "2 runs side by side",
	} {
		if status, body := get(t, at+path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s answers %d, without %q:\n%.600s", path, status, want, body)
		}
	}
	for path, want := range map[string]int{
		"run/none": http.StatusNotFound, "run/..%2f..%2fetc": http.StatusNotFound,
		"run/one/timeline.jsonl": http.StatusNotFound, "more/none?after=1": http.StatusNotFound,
		"more/one?after=-1": http.StatusBadRequest, "more/one": http.StatusBadRequest,
		"compare?run=one&run=none": http.StatusNotFound,
		"run/unreadable":           http.StatusInternalServerError, "elsewhere": http.StatusNotFound,
	} {
		if status, body := get(t, at+path); status != want {
			t.Errorf("%s answers %d, want %d: %.300s", path, status, want, body)
		}
	}
}

// A page compares runs that fit into memory and onto the page, whatever a link to it says.
func TestCompare_NumberOfRuns_IsBounded(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var all []string
	for i := range 21 {
		name := fmt.Sprintf("run-%d", i)
		begin(t, filepath.Join(root, name)).end()
		all = append(all, "run="+name)
	}
	at := servetest.Start(t, root)
	for query, want := range map[string]string{
		strings.Join(all[:20], "&"): "20 runs side by side",
		strings.Join(all, "&"):      "choose from 2 to 20 runs to compare; there are 21\n",
		all[0]:                      "choose from 2 to 20 runs to compare; there are 1\n",
		"":                          "choose from 2 to 20 runs to compare; there are 0\n",
		strings.Join([]string{all[0], all[1], all[0]}, "&"): "choose each run once; \"run-0\" is there twice\n",
	} {
		wanted := http.StatusBadRequest
		if strings.HasSuffix(want, "side by side") {
			wanted = http.StatusOK
		}
		if status, body := get(t, at+"compare?"+query); status != wanted || !strings.Contains(body, want) {
			t.Errorf("%s answers %d, want %d with %q: %.300s", query, status, wanted, want, body)
		}
	}
}

// A page compares as many runs as fit into memory by their sizes, too: each is read whole.
func TestCompare_SizeOfRuns_IsBounded(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"one", "two"} {
		file := filepath.Join(root, name, timeline.FileName)
		err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600), os.Truncate(file, 3<<29))
		if err != nil {
			t.Fatal(err)
		}
	}
	want := "the timelines of these runs have 3221225472 bytes; choose runs with at most 2147483648\n"
	if status, body := get(t, servetest.Start(t, root)+"compare?run=one&run=two"); status != http.StatusBadRequest ||
		body != want {
		t.Errorf("it answers %d, want 400 with %q: %.300s", status, want, body)
	}
}

// So many pages follow at a time: each makes the server look at the files twice a second.
func TestFollow_NumberOfStreams_IsBounded(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	begin(t, filepath.Join(root, "goes-on"))
	at := servetest.Start(t, root)
	follow := func(path string) *http.Response {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	for range 64 {
		if answer := follow("changes"); answer.StatusCode != http.StatusOK {
			t.Fatalf("a page that follows is answered %d", answer.StatusCode)
		}
	}
	for _, path := range []string{"changes", "more/goes-on/changes"} {
		if answer := follow(path); answer.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("one more that follows %s is answered %d", path, answer.StatusCode)
		}
	}
	if status, _ := get(t, at); status != http.StatusOK {
		t.Errorf("the list is answered %d", status)
	}
}

// A client that follows a run hears of every change, and can ask for what is new.
func TestFollowARun(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	one := begin(t, filepath.Join(root, "goes-on"))
	at := servetest.Start(t, root)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"more/goes-on/changes", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if kind := stream.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("the stream is %q", kind)
	}
	lines := bufio.NewScanner(stream.Body)
	changed := func() {
		t.Helper()
		for lines.Scan() {
			if lines.Text() == "event: change" {
				return
			}
		}
		t.Fatalf("the stream has ended: %v", lines.Err())
	}
	changed() // the first word
	one.record(timeline.Note{Text: "something <new>"})
	changed()
	_, body := get(t, at+"more/goes-on?after=1")
	var more report.More
	if err := json.Unmarshal([]byte(body), &more); err != nil {
		t.Fatal(err)
	}
	if more.Judged || len(more.Model.Events.Text) != 1 || more.Model.Events.Text[0] != "something <new>" ||
		len(more.Lines) != 1 {
		t.Errorf("what is new: %s", body)
	}
	one.end()
	changed()
	for !more.Judged { // the timeline ends before the verdict is there
		_, body = get(t, at+"more/goes-on?after=2")
		if err := json.Unmarshal([]byte(body), &more); err != nil {
			t.Fatal(err)
		}
		if !more.Judged {
			changed()
		}
	}
}

func TestOnlyThisMachineIsAnswered(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "[::]:0", "example.com:80"} {
		err := serve.Serve(t.Context(), serve.Options{Folder: root, Address: address, Ready: func(string) {
			t.Errorf("%s is served", address)
		}})
		if !errors.Is(err, serve.ErrNotLoopback) {
			t.Errorf("%s: %v", address, err)
		}
	}
	at, err := url.Parse(servetest.Start(t, root))
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{"": http.StatusOK, "localhost:1": http.StatusOK,
		"evil.example": http.StatusForbidden, "127.0.0.1.evil.example:80": http.StatusForbidden} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("who calls it %q is answered %d, want %d", host, answer.StatusCode, want)
		}
	}
}

func TestThereMustBeAFolder(t *testing.T) {
	t.Parallel()
	err := serve.Serve(t.Context(), serve.Options{Folder: filepath.Join(t.TempDir(), "none"), Address: "127.0.0.1:0"})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// The list reads no timeline of a run that is judged, however many there are: here all timelines but one are damaged.
func TestTheListOfHundredsOfRuns(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	begin(t, filepath.Join(root, "run-0")).end()
	judged, err := os.ReadFile(filepath.Join(root, "run-0", verdict.FileName))
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < 500; i++ {
		folder := filepath.Join(root, fmt.Sprint("run-", i))
		if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, verdict.FileName), judged, 0o600),
			os.WriteFile(filepath.Join(folder, timeline.FileName), []byte("no timeline\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	at := servetest.Start(t, root)
	for range 2 {
		if _, list := get(t, at); strings.Count(list, ">Passed<") != 500 || strings.Contains(list, "Unreadable") {
			t.Errorf("%d runs are listed as Passed", strings.Count(list, ">Passed<"))
		}
	}
	if status, body := get(t, at+"run/run-1"); status != http.StatusInternalServerError {
		t.Errorf("the page of a run with a damaged timeline: %d, %.200s", status, body)
	}
}

// BenchmarkList shows what the first answer costs beside reading every timeline, as the list once did.
func BenchmarkList(b *testing.B) {
	root := b.TempDir()
	var line strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&line, `{"seq":%d,"at":%d,"kind":"note","payload":{"text":"x"}}`+"\n", i+1, i)
	}
	head := `{"format":"transplant.dev/timeline","version":1,"started":"2026-01-01T00:00:00Z"}` + "\n"
	const runs = 50
	for i := range runs {
		folder := filepath.Join(root, fmt.Sprint("run-", i))
		if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, verdict.FileName),
			[]byte(`{"verdict":"Passed"}`), 0o600),
			os.WriteFile(filepath.Join(folder, timeline.FileName), []byte(head+line.String()), 0o600)); err != nil {
			b.Fatal(err)
		}
	}
	var whole, list time.Duration
	for b.Loop() {
		began := time.Now()
		for i := range runs {
			if _, err := report.Load(filepath.Join(root, fmt.Sprint("run-", i))); err != nil {
				b.Fatal(err)
			}
		}
		whole += time.Since(began)
		began = time.Now()
		for i := range runs {
			if _, err := report.SummaryIn(filepath.Join(root, fmt.Sprint("run-", i))); err != nil {
				b.Fatal(err)
			}
		}
		list += time.Since(began)
	}
	b.ReportMetric(whole.Seconds()/list.Seconds(), "timelines/verdicts")
}
