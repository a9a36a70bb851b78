package report_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/transplant-sim/transplant/clusters/integrationtest"
)

// requireBrowser is the environment variable under which a machine without a browser fails the tests that need one. CI
// sets it; elsewhere they are skipped.
const requireBrowser = "TRANSPLANT_REQUIRE_BROWSER"

// patience bounds one test in a browser, on a machine that may be busy.
const patience = 3 * time.Minute

// window is a page in a browser that has nothing but what it is given: whatever it complains of, or asks of the
// network, is kept.
type window struct {
	t   *testing.T
	ctx context.Context

	mu    sync.Mutex
	wrong []string
}

func browse(t *testing.T) *window {
	t.Helper()
	if os.Getenv(requireBrowser) == "" {
		integrationtest.Mark(t, "starts a browser")
	}
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		if os.Getenv(requireBrowser) != "" {
			t.Fatalf("there is no chromium, and %s wants one", requireBrowser)
		}
		t.Skip("there is no chromium: install it to have the report looked at in a browser")
	}
	profile := t.TempDir()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.UserDataDir(profile),
		chromedp.ModifyCmdFunc(func(browser *exec.Cmd) { endAll(t, browser, profile) }),
		chromedp.NoSandbox, chromedp.WindowSize(1400, 1000),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("force-prefers-reduced-motion", true))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	w := &window{t: t}
	w.ctx, cancel = chromedp.NewContext(ctx, chromedp.WithListener(w.listen))
	t.Cleanup(cancel)
	w.do("open the browser")
	return w
}

// endAll has the test end a browser's helpers too: they outlive it for a moment, and write to its profile.
func endAll(t *testing.T, browser *exec.Cmd, profile string) {
	browser.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	t.Cleanup(func() {
		if browser.Process == nil {
			return
		}
		_ = syscall.Kill(-browser.Process.Pid, syscall.SIGKILL)
		for end := time.Now().Add(patience); os.RemoveAll(profile) != nil && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	})
}

func (w *window) listen(event any) {
	wrong := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		wrong = (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error()
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			wrong = e.Entry.Text
		}
	case *network.EventRequestWillBeSent:
		if url := e.Request.URL; !strings.HasPrefix(url, "file:") && !strings.HasPrefix(url, "data:") &&
			!strings.HasPrefix(url, "http://127.0.0.1:") {
			wrong = "asks for " + url
		}
	}
	if wrong != "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.wrong = append(w.wrong, wrong)
	}
}

// step is what is done to a page without an answer.
type step = chromedp.Action[chromedp.Void]

// send a command of the protocol, and have its answer.
func send[P, R any](command cdp.Command[P, R], parameters P) chromedp.Action[R] {
	return func(ctx context.Context, page *chromedp.Target) (R, error) {
		return cdp.Call(ctx, page, command, parameters)
	}
}

// do what a person would; what, for the message when it cannot be done.
func (w *window) do(what string, steps ...step) {
	w.t.Helper()
	get(w, what, chromedp.Steps(steps...))
}

// get what an action answers.
func get[T any](w *window, what string, action chromedp.Action[T]) T {
	w.t.Helper()
	answer, err := chromedp.Run(w.ctx, action)
	if err != nil {
		w.t.Fatalf("%s: %v; the page complained of %q", what, err, w.complaints())
	}
	return answer
}

func (w *window) complaints() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wrong
}

// open a report and wait until it is painted.
func (w *window) open(url string) {
	w.t.Helper()
	w.do("open "+url, chromedp.Navigate(url), chromedp.WaitReady(chromedp.CSS(`#picture[data-busy="false"]`)))
}

// ask the page.
func ask[T any](w *window, expression string) T {
	w.t.Helper()
	return get(w, "ask "+expression, chromedp.Evaluate[T](expression))
}

// until the page says yes.
func (w *window) until(expression string) {
	w.t.Helper()
	w.do("wait until "+expression, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(30*time.Second)))
}

// picture keeps a screenshot of the whole page among the test's artefacts.
func (w *window) picture(name string) {
	w.t.Helper()
	w.keep(name+".png", get(w, "take a picture", chromedp.FullScreenshot(100)))
}

func (w *window) keep(name string, content []byte) {
	w.t.Helper()
	path := filepath.Join(w.t.ArtifactDir(), name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		w.t.Fatal(err)
	}
	w.t.Logf("kept %s (%d bytes)", path, len(content))
}

func fileURL(folder, name string) string { return fmt.Sprintf("file://%s/%s", folder, name) }
