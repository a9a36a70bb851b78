package report

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// ImageName is the file with the picture of a run in its folder.
const ImageName = "report.svg"

// WriteImage of the run in a folder into it: its verdict, where its shoots were, and what became of them, as SVG that
// needs nothing but itself.
func WriteImage(folder string) error {
	run, err := Load(folder)
	if err != nil {
		return err
	}
	common, strips := stripsOf([]*Run{run})
	image := struct {
		page
		Title         string
		Head          []string
		Scale         scale
		Strip         strip
		Width, Height int
		WhereAt       int
		StripAt       int
	}{page: pageOf(run), Scale: common, Strip: strips[0]}
	zero, _ := anchor(run)
	// All that the picture shows is of the strip's clock.
	image.Where = whereOf(run, zero)
	for i := range image.Violations {
		image.Violations[i].First.At = clock(image.Violations[i].First.Moment - ms(zero))
	}
	image.Headline = headlineOf(run, image.Violations)
	image.Width = max(common.Width, image.Where.Width+20)
	var numbers []string
	for _, m := range image.Measures {
		numbers = append(numbers, strings.TrimSpace(m.Name+" "+m.Value+" "+m.Unit))
	}
	most := (image.Width - 20) / letterWidth
	image.Head = slices.Concat(folded(strings.Fields(image.Headline), " ", most, headlineLines),
		folded(numbers, " · ", most, len(numbers)))
	image.Title = fmt.Sprintf("%s: %s", image.Verdict, run.Start.Scenario)
	image.WhereAt = imageHead + len(image.Head)*imageLine
	image.StripAt = image.WhereAt + image.Where.Height
	image.Height = image.StripAt + stripHead + strips[0].Height + 10
	return writeFile(filepath.Join(folder, ImageName), func(out io.Writer) error {
		if err := pages.ExecuteTemplate(out, "image.html", image); err != nil {
			return fmt.Errorf("render the picture of %q: %w", run.Name, err)
		}
		return nil
	})
}

// Measures of the picture: the height of its title, of a line below that, and of the scale above the strip; how wide a
// letter is at most, on average; and how many lines a headline may have.
const (
	imageHead     = 44
	imageLine     = 20
	stripHead     = 24
	letterWidth   = 7
	headlineLines = 3
)

// folded parts to lines of at most so many letters, where a part alone has no more; those beyond the last line are
// left out, and dots say so.
func folded(parts []string, between string, letters, lines int) []string {
	var all []string
	for _, part := range parts {
		last := len(all) - 1
		switch {
		case last >= 0 && utf8.RuneCountInString(all[last]+between+part) <= letters:
			all[last] += between + part
		case len(all) < lines:
			all = append(all, part)
		default:
			all[last] += " …"
			return all
		}
	}
	return all
}

// where is a map of a run: the garden, the seeds, and which way shoots went.
type where struct {
	Width, Height int
	Places        []place
	Moves         []move
	More          string // how many moves are left out
}

// place is a cluster.
type place struct {
	X, Y   int
	Middle int
	Name   string
	// Shoots that were on it at the end, as far as the garden knew.
	Shoots string
	// Harm lists the faults that name it, or an actor that runs on it.
	Harm string
}

// move of a shoot from one seed to another.
type move struct {
	From, To, Y int // To is where the line ends, before the middle of the seed
	Tip         int // where the head of the arrow ends
	Head        int // where it begins
	Text        string
	TextAt      int
}

// Measures of the map.
const (
	placeWidth  = 150
	placeHeight = 46
	placeGap    = 60
	seedsAt     = 74
	movesAt     = seedsAt + placeHeight + 22
	moveHeight  = 24
	mostMoves   = 6
)

// whereOf a run: its moments count from zero.
func whereOf(run *Run, zero time.Duration) where {
	seeds := seedsOf(run, nil)
	if len(seeds) == 0 {
		return where{}
	}
	width := len(seeds)*(placeWidth+placeGap) - placeGap
	ends, moves := journeys(run)
	bands := bandsOf(run)
	w := where{Width: width + 2, Height: movesAt - 10}
	at := map[string]int{}
	add := func(x, y int, name string) {
		var here []string
		for _, shoot := range slices.Sorted(maps.Keys(ends)) {
			if ends[shoot] == name {
				here = append(here, shoot)
			}
		}
		at[name] = x + placeWidth/2
		w.Places = append(w.Places, place{X: x, Y: y, Middle: at[name], Name: name, Shoots: shortened(here), Harm: harm(bands,
			name, run.Scenario.Spec.Landscape)})
	}
	add((width-placeWidth)/2+1, 1, landscape.Garden)
	for i, seed := range seeds {
		add(i*(placeWidth+placeGap)+1, seedsAt, seed)
	}
	for i, j := range moves {
		w.Height = movesAt + (i+1)*moveHeight
		if i == mostMoves {
			w.More = fmt.Sprintf("and %d more", len(moves)-mostMoves)
			break
		}
		w.Moves = append(w.Moves, j.on(at, movesAt+i*moveHeight, zero))
	}
	return w
}

// Words of the map, for those who do not see it.
func (w where) Words() string {
	var all []string
	for _, p := range w.Places {
		text := p.Name
		if p.Harm != "" {
			text += " (fault " + p.Harm + ")"
		}
		if p.Shoots != "" {
			text += " with " + p.Shoots
		}
		all = append(all, text)
	}
	for _, m := range w.Moves {
		all = append(all, m.Text)
	}
	if w.More != "" {
		all = append(all, w.More)
	}
	return strings.Join(all, "; ")
}

// shortened list of names.
func shortened(names []string) string {
	const most = 3
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most-1], ", "), len(names)-most+1)
	}
	return strings.Join(names, ", ")
}

// harm lists the faults that name a cluster, or an actor that runs on it.
func harm(bands []Band, cluster string, on landscape.Landscape) string {
	var faults []string
	for _, band := range bands {
		names := slices.ContainsFunc(namesIn(band.What), func(name string) bool {
			return name == cluster || on.HomeOf(name) == cluster
		})
		if band.Begun && names && !slices.Contains(faults, band.Name) {
			faults = append(faults, band.Name)
		}
	}
	return shortened(faults)
}

// journey of a shoot from one seed to another.
type journey struct {
	shoot, from, to string
	left            time.Duration // when it was first seen bound to another seed than the one that it was on
	leaving         bool          // whether that was seen before it came
	arrived         bool          // whether its Restore was seen to succeed
	came            time.Duration // when its Restore there succeeded; if not seen, when its status first named the seed
}

// journeys of all shoots, in order, and the seeds that they were on at the end.
func journeys(run *Run) (ends map[string]string, all []journey) {
	ends = map[string]string{}
	left := map[string]time.Duration{}
	for e, p := range timeline.Of[timeline.ShootSeen](run.Events) {
		if p.Absent {
			delete(ends, e.Subject)
			delete(left, e.Subject)
			continue
		}
		if was, now := ends[e.Subject], p.StatusSeed; now != "" && now != was {
			if was != "" {
				since, leaving := left[e.Subject]
				all = append(all, journey{shoot: e.Subject, from: was, to: now, left: since, leaving: leaving, came: e.At})
			}
			ends[e.Subject] = now
			delete(left, e.Subject)
		}
		on := ends[e.Subject]
		if p.Operation.Type == "Restore" && p.Operation.State == "Succeeded" {
			arrive(all, e.Subject, on, e.At)
		}
		if _, leaving := left[e.Subject]; on != "" && on != p.SpecSeed && !leaving {
			left[e.Subject] = e.At
		} else if on == p.SpecSeed {
			delete(left, e.Subject)
		}
	}
	return ends, all
}

// arrive ends the last journey of a shoot, which the garden sees on its new seed as soon as a Restore begins.
func arrive(all []journey, shoot, on string, at time.Duration) {
	for i := range slices.Backward(all) {
		if j := &all[i]; j.shoot == shoot {
			if j.to == on && !j.arrived {
				j.came, j.arrived = at, true
			}
			return
		}
	}
}

// on the map: an arrow with a text above its middle, whose moments count from zero.
func (j journey) on(at map[string]int, y int, zero time.Duration) move {
	const head = 7
	from, to, step := at[j.from], at[j.to], head
	if from > to {
		step = -head
	}
	when := "by " + clock(ms(j.came-zero))
	if j.leaving {
		when = clock(ms(j.left-zero)) + " – " + clock(ms(j.came-zero))
	}
	text := fmt.Sprintf("%s to %s: %s", j.shoot, j.to, when)
	return move{From: from, To: to - step, Head: to - step, Tip: to, Y: y, Text: text, TextAt: (from + to) / 2}
}
