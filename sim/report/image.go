package report

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
		Measured      string
		Scale         scale
		Strip         strip
		Width, Height int
		StripAt       int
	}{page: pageOf(run), Scale: common, Strip: strips[0], Width: common.Width}
	var numbers []string
	for _, m := range image.Measures {
		numbers = append(numbers, strings.TrimSpace(m.Name+" "+m.Value+" "+m.Unit))
	}
	image.Measured = strings.Join(numbers, " · ")
	image.Title = fmt.Sprintf("%s: %s", image.Verdict, run.Start.Scenario)
	image.StripAt = imageHead + image.Where.Height
	image.Height = image.StripAt + stripHead + strips[0].Height + 10
	return writeFile(filepath.Join(folder, ImageName), func(out io.Writer) error {
		if err := pages.ExecuteTemplate(out, "image.html", image); err != nil {
			return fmt.Errorf("render the picture of %q: %w", run.Name, err)
		}
		return nil
	})
}

// Heights in the picture: of the lines above the map, and of the scale above the strip.
const (
	imageHead = 84
	stripHead = 24
)

// where is a map of a run: the garden, the seeds, and which way shoots went.
type where struct {
	Width, Height int
	Places        []place
	Moves         []move
}

// place is a cluster.
type place struct {
	X, Y   int
	Middle int
	Name   string
	// Shoots that were on it at the end, as far as the garden knew.
	Shoots string
	// Harm are the faults that name it, or an actor of it.
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

func whereOf(run *Run) where {
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
			name)})
	}
	add((width-placeWidth)/2+1, 1, landscape.Garden)
	for i, seed := range seeds {
		add(i*(placeWidth+placeGap)+1, seedsAt, seed)
	}
	for i, j := range moves {
		if i == mostMoves {
			break
		}
		w.Moves = append(w.Moves, j.on(at, movesAt+i*moveHeight))
		w.Height = movesAt + (i+1)*moveHeight
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

// harm are the faults that name a cluster, or an actor that is called after it.
func harm(bands []Band, cluster string) string {
	var faults []string
	for _, band := range bands {
		names := slices.ContainsFunc(namesIn(band.What), func(name string) bool {
			return name == cluster || strings.HasSuffix(name, "-"+cluster)
		})
		if band.Begun && names && !slices.Contains(faults, band.Name) {
			faults = append(faults, band.Name)
		}
	}
	return shortened(faults)
}

// journey of a shoot: from when the garden no longer said that it is on one seed to when it said that it is on another.
type journey struct {
	shoot, from, to string
	left, came      time.Duration
}

// journeys of all shoots, in order, and the seeds that they were on at the end.
func journeys(run *Run) (ends map[string]string, all []journey) {
	ends = map[string]string{}
	left := map[string]time.Duration{}
	for e, p := range timeline.Of[timeline.ShootSeen](run.Events) {
		was, now := ends[e.Subject], p.StatusSeed
		switch {
		case p.Absent:
			delete(ends, e.Subject)
			delete(left, e.Subject)
			continue
		case was != "" && now != "" && now != was:
			all = append(all, journey{shoot: e.Subject, from: was, to: now, left: left[e.Subject], came: e.At})
		case was != "" && p.SpecSeed != was && left[e.Subject] == 0:
			left[e.Subject] = e.At
		}
		if now != "" {
			ends[e.Subject] = now
		}
		if p.SpecSeed == now {
			delete(left, e.Subject)
		}
	}
	return ends, all
}

// on the map: an arrow with a text in the gap between the seeds, or beside it if there is no room.
func (j journey) on(at map[string]int, y int) move {
	const head = 7
	from, to, step := at[j.from], at[j.to], head
	if from > to {
		step = -head
	}
	text := fmt.Sprintf("%s to %s: %s – %s", j.shoot, j.to, clock(ms(j.left)), clock(ms(j.came)))
	return move{From: from, To: to - step, Head: to - step, Tip: to, Y: y, Text: text, TextAt: (from + to) / 2}
}
