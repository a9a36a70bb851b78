package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// strip is the picture of one run in a comparison, drawn to the same scale as the others.
type strip struct {
	Name, Verdict, Tone, Link string
	From                      string // what its zero is
	Lines                     []stripLine
	Height                    int
	Bands                     []stripBox
}

type stripLine struct {
	Label string
	Y     int
	Boxes []stripBox
}

type stripBox struct {
	X, Width string
	Tone     Tone
	Label    string
	About    string
}

// scale of the strips: how wide they are, and where the marks of time stand.
type scale struct {
	Width, Left int
	Marks       []stripMark
}

type stripMark struct {
	X    string
	Text string
}

const (
	stripWidth = 1200
	stripLeft  = 150
	stripRow   = 18
	before     = 3000 // milliseconds that are shown before the anchor
)

func stripsOf(runs []*Run) (scale, []strip) {
	longest := int64(1000)
	for _, run := range runs {
		at, _ := anchor(run)
		longest = max(longest, ms(run.length()-at))
	}
	perMS := float64(stripWidth-stripLeft-10) / float64(longest+before)
	x := func(t int64) float64 { return stripLeft + float64(min(max(t, -before), longest)+before)*perMS }
	var all []strip
	for _, run := range runs {
		all = append(all, stripOf(run, x))
	}
	return scale{Width: stripWidth, Left: stripLeft, Marks: marksOf(longest, x)}, all
}

func marksOf(longest int64, x func(int64) float64) []stripMark {
	step := int64(math.Pow(10, math.Ceil(math.Log10(float64(longest)/10))))
	for _, smaller := range []int64{5, 2} {
		if longest/(step/smaller) <= 14 {
			step /= smaller
			break
		}
	}
	var marks []stripMark
	for t := int64(0); t <= longest; t += max(step, 1) {
		marks = append(marks, stripMark{fmt.Sprintf("%.1f", x(t)), fmt.Sprintf("%g s", float64(t)/1000)})
	}
	return marks
}

// stripOf a run: for each of its shoots what is done with it and whether it answers.
func stripOf(run *Run, x func(int64) float64) strip {
	p := pageOf(run)
	at, from := anchor(run)
	zero := ms(at)
	box := func(b Bar) stripBox {
		left, right := x(b.From-zero), x(b.To-zero)
		label := b.Label
		if float64(len(label))*6.5 > right-left {
			label = ""
		}
		return stripBox{X: fmt.Sprintf("%.1f", left), Width: fmt.Sprintf("%.1f", max(right-left, 1)), Tone: b.Tone,
			Label: label, About: b.About}
	}
	s := strip{Name: run.Name, Verdict: p.Verdict, Tone: p.Tone, From: from}
	for _, row := range p.Model.Rows {
		if row.Group != groupShoots || !strings.HasSuffix(row.Label, " operation") && !strings.HasSuffix(row.Label,
			" API") {
			continue
		}
		l := stripLine{Label: row.Label, Y: len(s.Lines) * stripRow}
		for _, b := range row.Bars {
			if b.To >= zero-before {
				l.Boxes = append(l.Boxes, box(b))
			}
		}
		s.Lines = append(s.Lines, l)
	}
	for _, f := range p.Faults {
		if f.Begun {
			s.Bands = append(s.Bands, box(Bar{From: f.From, To: f.To, Tone: Bad, About: bandText(f)}))
		}
	}
	s.Lines = slices.Clip(s.Lines)
	s.Height = max(len(s.Lines), 1) * stripRow
	return s
}
