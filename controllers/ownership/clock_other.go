//go:build !linux

package ownership

import "errors"

func bootTime() (Instant, error) {
	return 0, errors.New("a clock that counts pauses is known on Linux only")
}
