package kind

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// Whoever may write records of DNS still does not reach what listens on the loopback of this machine.
func TestPastLoopback_RecordOfLoopback_IsRefused(t *testing.T) {
	t.Parallel()
	unknown := errors.New("no such host")
	for address, want := range map[string]string{
		"172.18.0.3": "", "127.0.0.1": "no link leads there", "127.8.8.8": "no link leads there",
		"::ffff:127.0.0.1": "no link leads there", "0.0.0.0": "no link leads there", "::": "no link leads there",
		"nonsense": `read the address of "api.test"`, "": unknown.Error(),
	} {
		resolve := pastLoopback(func(context.Context, string) (string, time.Duration, error) {
			if address == "" {
				return "", 0, unknown
			}
			return address, time.Minute, nil
		})
		at, ttl, err := resolve(t.Context(), "api.test")
		switch {
		case want == "" && (at != address || ttl != time.Minute || err != nil):
			t.Errorf("%s: %q for %s, %v", address, at, ttl, err)
		case want != "" && (at != "" || err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %q, %v; want an error with %q", address, at, err, want)
		}
	}
}
