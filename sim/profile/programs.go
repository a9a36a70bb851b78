package profile

import (
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// ended is the Program of processes that ended between two looks.
const ended = "(ended)"

// process distinguishes processes: a pid may be used again.
type process struct {
	pid   int
	birth uint64
}

// programs adds up what processes have used between two looks. What one that has ended had used before is taken off
// what its parent says of those that have ended. Nobody has waited for one whose parent has ended too, as on a lost
// cluster: its last work is not known.
func programs(before, after []timeline.ProcessSeen) []Program {
	was, names := map[process]timeline.ProcessSeen{}, map[int]string{}
	for _, p := range before {
		was[process{p.PID, p.Birth}] = p
	}
	for _, p := range after {
		names[p.PID] = p.Program
	}
	sums := map[[2]string]*Program{}
	add := func(program, parent string, cpu time.Duration, wakeUps int64) {
		if cpu == 0 && wakeUps == 0 {
			return
		}
		sum := sums[[2]string{program, parent}]
		if sum == nil {
			sum = &Program{Program: program, Parent: parent}
			sums[[2]string{program, parent}] = sum
		}
		sum.CPUSeconds, sum.WakeUps = sum.CPUSeconds+cpu.Seconds(), sum.WakeUps+wakeUps
	}
	for _, p := range after {
		b := was[process{p.PID, p.Birth}]
		delete(was, process{p.PID, p.Birth})
		add(p.Program, names[p.Parent], time.Duration(p.CPU-b.CPU), max(0, p.WakeUps-b.WakeUps))
		add(ended, p.Program, time.Duration(p.Ended-b.Ended), 0)
	}
	for _, gone := range was {
		if parent := names[gone.Parent]; parent != "" {
			add(ended, parent, -time.Duration(gone.CPU+gone.Ended), 0)
		}
	}
	var all []Program
	for _, sum := range sums {
		all = append(all, *sum)
	}
	return all
}
