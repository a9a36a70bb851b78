package integrationtest

import (
	"flag"
	"testing"
)

func TestMark_Short_IsSkipped(t *testing.T) {
	before := flag.Lookup("test.short").Value.String()
	t.Cleanup(func() { _ = flag.Set("test.short", before) })
	for short, want := range map[string]bool{"true": true, "false": false} {
		if err := flag.Set("test.short", short); err != nil {
			t.Fatal(err)
		}
		var skipped bool
		t.Run(short, func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			Mark(t, "starts nothing")
		})
		if skipped != want {
			t.Errorf("with -short=%s it is skipped: %v, want %v", short, skipped, want)
		}
	}
}
