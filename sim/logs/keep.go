package logs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// MostKept of a log file: the end of it.
const MostKept = 4 << 20

// Keep copies the end of a log into a new file, whose folder it makes. The log may be in several files, oldest first,
// of which those that are not there are passed over; without any of them nothing is made. When something is left out,
// the first line says so.
func Keep(to string, from ...string) error {
	var parts []part
	defer func() {
		for _, p := range parts {
			_ = p.file.Close() // only read from
		}
	}()
	var size int64
	for _, path := range from {
		file, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("open the log: %w", err)
		}
		parts = append(parts, part{file: file})
		info, err := file.Stat()
		if err != nil {
			return fmt.Errorf("look at the log: %w", err)
		}
		parts[len(parts)-1].size = info.Size()
		size += info.Size()
	}
	if len(parts) == 0 {
		return nil
	}
	return write(to, parts, max(0, size-MostKept))
}

type part struct {
	file *os.File
	size int64
}

// write what is left of the parts when so many bytes are skipped.
func write(to string, parts []part, skip int64) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("make the folder of logs: %w", err)
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("make the log: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if skip > 0 {
		const said = "[the first %d bytes of this log are left out; its last %d are here]\n"
		if _, err := fmt.Fprintf(out, said, skip, MostKept); err != nil {
			return fmt.Errorf("write the log: %w", err)
		}
	}
	for _, p := range parts {
		over := min(skip, p.size)
		skip -= over
		// What is written meanwhile belongs to the next run: a log that grows must not be followed.
		if _, err := io.Copy(out, io.NewSectionReader(p.file, over, p.size-over)); err != nil {
			return fmt.Errorf("copy the log: %w", err)
		}
	}
	return nil
}
