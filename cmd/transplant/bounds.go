package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transplant-sim/transplant/api/userfile"
	"github.com/transplant-sim/transplant/clusters/embedded/address"
)

// What a flag may be at most, whatever it is for.
const (
	shortest = time.Millisecond
	longest  = 365 * 24 * time.Hour
	mostInt  = 1_000_000_000
	mostReal = 1000

	leastReal = 0.001
)

// mostOf flags that allot something for each, by their names.
var mostOf = map[string]int64{"jobs": 28, "last": 100_000, "evacuation-at-once": 1000, "epoch": math.MaxInt64,
	"ring": address.MaxClusters - 2} // beside the garden and the seed outside

// zeroMeans are flags whose default is not zero and that say by zero that there is none.
var zeroMeans = map[string]string{
	"health-check-interval": "never", "shoot-retry-jitter": "no chance", "boot-delay": "at once", "slot": "the first",
	"tolerance":              "none",
	"seed-loss-grace-period": "at once",
}

// checkFlags refuses values that nobody means, for every flag of every command: what is not finite, negative, or more
// than a program can do anything with, and paths that lead to no regular file and no folder.
func checkFlags(command *cobra.Command, _ []string) error {
	var errs []error
	command.Flags().Visit(func(f *pflag.Flag) {
		if err := checkFlag(f); err != nil {
			errs = append(errs, fmt.Errorf("--%s %.60s: %w", f.Name, f.Value, err))
		}
	})
	return errors.Join(errs...)
}

func checkFlag(f *pflag.Flag) error {
	text := f.Value.String()
	switch f.Value.Type() {
	case "duration":
		value, err := time.ParseDuration(text)
		none := isZero(f.DefValue) || zeroMeans[f.Name] != ""
		if err != nil || value == 0 && !none || value != 0 && value < shortest || value > longest {
			return fmt.Errorf("must be from %s to %s%s", shortest, longest, orZero(none))
		}
	case "int", "int32", "int64":
		value, err := strconv.ParseInt(text, 10, 64)
		most, bounded := mostOf[f.Name]
		if !bounded {
			most = mostInt
		}
		least := int64(1)
		if isZero(f.DefValue) || zeroMeans[f.Name] != "" {
			least = 0
		}
		if err != nil || (value < least || value > most) && text != f.DefValue {
			return fmt.Errorf("must be from %d to %d", least, most)
		}
	case "float64":
		value, err := strconv.ParseFloat(text, 64)
		none := value == 0 && zeroMeans[f.Name] != ""
		if err != nil || !none && !(value >= leastReal && value <= mostReal) { // NaN is neither
			return fmt.Errorf("must be from %g to %d%s", leastReal, mostReal, orZero(zeroMeans[f.Name] != ""))
		}
	default:
		return checkPaths(f.Value)
	}
	return nil
}

func isZero(text string) bool { return text == "0" || text == "0s" || text == "" }

func orZero(allowed bool) string {
	if allowed {
		return ", or 0"
	}
	return ""
}

// checkPaths refuses texts that lead to a device, a pipe or a socket: reading one may never end, and writing one may
// wait for ever.
func checkPaths(value pflag.Value) error {
	texts := []string{value.String()}
	if list, is := value.(pflag.SliceValue); is {
		texts = list.GetSlice()
	}
	for _, text := range texts {
		if kind := userfile.Kind(text); kind != "" && kind != "folder" {
			return fmt.Errorf("is a %s; %w", kind, userfile.ErrNotRegular)
		}
	}
	return nil
}
