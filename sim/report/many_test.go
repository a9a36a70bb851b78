package report_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/transplant-sim/transplant/sim/report"
)

// A run of 50,000 events is shown as fast as a short one: the page makes no more elements for it. How long it takes is
// printed, and bounded only against hanging.
func TestManyEventsInABrowser(t *testing.T) {
	t.Parallel()
	w := browse(t)
	elements := func(writes int) (events, made int) {
		folder := lossy(t, writes, 0)
		begin := time.Now()
		w.open(fileURL(folder, report.FileName))
		opened := time.Since(begin)
		events = ask[int](w, `+document.getElementById("count").textContent`)
		made = ask[int](w, `document.getElementsByTagName("*").length`)
		w.do("zoom in", chromedp.Click(`[data-zoom="in"]`, chromedp.ByQuery))
		w.until(shownWindow + ` === "8.00 s to 32.00 s"`)
		zoomed := ask[string](w, `document.getElementById("picture").dataset.painted`)
		w.do("type", chromedp.SendKeys("#filter", "revision 1", chromedp.ByQuery))
		w.until(`document.getElementById("count").textContent.includes(" of ")`)
		t.Logf("%d events: opened in %s, %d elements; a zoom paints in %s ms, a filter in %s ms", events, opened.Round(time.Millisecond), made, zoomed,
			ask[string](w, `document.getElementById("picture").dataset.painted`))
		return events, made
	}
	_, few := elements(200)
	events, many := elements(8200)
	if events < 50000 {
		t.Fatalf("%d events are not many", events)
	}
	if many > few+400 {
		t.Errorf("%d elements for %d events, %d for few", many, events, few)
	}
	w.picture("many")
}
