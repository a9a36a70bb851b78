package report_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/transplant-sim/transplant/sim/report"
)

// paintings is what a zoom and a filter cost at least, of several times: others use this machine, too.
const paintings = `(async () => {
	const picture = document.getElementById("picture"), filter = document.getElementById("filter");
	const cost = async (act) => {
		picture.dataset.painted = "";
		act();
		while (!picture.dataset.painted) await new Promise(requestAnimationFrame);
		return +picture.dataset.painted;
	};
	const least = { zoom: Infinity, filter: Infinity };
	for (let i = 0; i < 10; i++) {
		least.zoom = Math.min(least.zoom, await cost(() =>
			document.querySelector('[data-zoom="' + (i % 2 ? "all" : "in") + '"]').click()));
		least.filter = Math.min(least.filter, await cost(() => {
			filter.value = i % 2 ? "" : "revision 1";
			filter.dispatchEvent(new Event("input"));
		}));
	}
	return [least.zoom, least.filter];
})()`

// For a run of 50,000 events the page makes hardly more elements than for a short one, and each event costs a zoom or a
// filter no more than it does there.
func TestManyEventsInABrowser(t *testing.T) {
	t.Parallel()
	w := browse(t)
	look := func(writes int) (events, made int, costs []float64) {
		folder := lossy(t, writes, 0)
		begin := time.Now()
		w.open(fileURL(folder, report.FileName))
		opened := time.Since(begin)
		events = ask[int](w, `+document.getElementById("count").textContent`)
		made = ask[int](w, `document.getElementsByTagName("*").length`)
		costs = get(w, "zoom and filter", chromedp.Evaluate[[]float64](paintings, chromedp.EvalAwaitPromise))
		t.Logf("%d events: opened in %s, %d elements; a zoom paints in %g ms, a filter in %g ms", events,
			opened.Round(time.Millisecond), made, costs[0], costs[1])
		return events, made, costs
	}
	short, few, before := look(200)
	events, many, costs := look(8200)
	if events < 50000 {
		t.Fatalf("%d events are not many", events)
	}
	if many > few+400 {
		t.Errorf("%d elements for %d events, %d for few", many, events, few)
	}
	for i, what := range []string{"a zoom", "a filter"} {
		if times := costs[i] / before[i]; times > float64(events)/float64(short) {
			t.Errorf("%s costs %.1f times as much, of %.1f times as many events", what, times, float64(events)/float64(short))
		}
	}
	w.picture("many")
}
