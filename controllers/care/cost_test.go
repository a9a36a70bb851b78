package care

import (
	"syscall"
	"testing"
	"time"
)

const (
	// shootsOfASeed is how many shoots one gardenlet looks after here.
	shootsOfASeed = 200
	// mostCores is what that may cost at most, at the default sync period.
	mostCores = 0.5
)

// BenchmarkCareOfASeed measures the processor time of the gardenlet for one look at each of 200 shoots, in cores at the
// default sync period. It is an upper bound: every look opens a connection of its own, and reads the seed, too, from an
// API server instead of from caches.
func BenchmarkCareOfASeed(b *testing.B) {
	f := newFixture(b)
	f.look(b) // what is made once, and what is written once
	b.ResetTimer()
	for range b.N {
		before := processorTime(b)
		for range shootsOfASeed {
			f.look(b)
		}
		spent := processorTime(b) - before
		cores := spent.Seconds() / DefaultSyncPeriod.Seconds()
		b.ReportMetric(cores, "cores")
		b.ReportMetric(float64(spent.Milliseconds())/shootsOfASeed, "cpu-ms/look")
		if cores > mostCores {
			b.Errorf("care of %d shoots costs %.2f cores, more than %.1f", shootsOfASeed, cores, mostCores)
		}
	}
}

// processorTime is what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	usage := syscall.Rusage{}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
