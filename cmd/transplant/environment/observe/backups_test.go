package observe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/world"
)

func TestLastBackup(t *testing.T) {
	t.Parallel()
	key := func(epoch int, kind string, first, last int, digit string) string {
		return fmt.Sprintf("shoot--p--alpha--uid/etcd-main/e%d/%s-%020d-%020d-%s.gz", epoch, kind, first, last,
			strings.Repeat(digit, 64))
	}
	old, delta := key(1, "delta", 5, 900, "a"), key(2, "delta", 11, 20, "b")
	full, both := key(2, "full", 0, 10, "c"), key(2, "full", 0, 20, "d")
	for _, c := range []struct {
		keys []string
		last world.Backup
		want string
	}{
		{[]string{delta, old, full}, world.AnyBackup, delta},
		{[]string{delta, old, full}, world.FullBackup, full},
		{[]string{both, full, old}, world.DeltaBackup, old},
		{[]string{both, delta}, world.AnyBackup, both},
		{[]string{"shoot--p--alpha--uid/etcd-main/epochs/2.json", "other"}, world.AnyBackup, ""},
	} {
		best := ""
		for _, candidate := range c.keys {
			found, is := backupOf(candidate, c.last)
			if !is {
				continue
			}
			if newest, _ := backupOf(best, c.last); best == "" || later(found, newest) > 0 {
				best = candidate
			}
		}
		if best != c.want {
			t.Errorf("%s of %v is %s, want %s", c.last, c.keys, best, c.want)
		}
	}
}
