package ownership

import "golang.org/x/sys/unix"

func bootTime() (Instant, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0, err
	}
	return Instant(ts.Nano()), nil
}
