package containerlog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Options cut a log. The zero value shows all of it.
type Options struct {
	Follow     bool
	Timestamps bool
	Tail       *int64    // only the last lines
	Since      time.Time // only lines not older
	Limit      *int64    // at most so many bytes
	Stream     Stream    // only this stream; empty for both
}

var errLimit = errors.New("the limit is reached")

// Read writes the log as a user wants to see it. With Follow it returns when the log has ended or ctx is done.
func (l *Log) Read(ctx context.Context, to io.Writer, options Options) error {
	skip, err := l.linesBeforeTail(options)
	if err != nil {
		return err
	}
	p := &printer{to: to, options: options, skip: skip, flush: func() {}, left: -1}
	if options.Limit != nil {
		p.left = *options.Limit
	}
	if f, ok := to.(interface{ Flush() }); ok {
		p.flush = f.Flush
	}
	if err := l.each(ctx, options.Follow, p.print, p.flush); err != nil && !errors.Is(err, errLimit) && ctx.Err() == nil {
		return err
	}
	return nil
}

// linesBeforeTail counts the lines that a tail leaves out.
func (l *Log) linesBeforeTail(options Options) (int64, error) {
	if options.Tail == nil {
		return 0, nil
	}
	var lines int64
	err := l.each(context.Background(), false, func(record []byte) error {
		if r, ok := parse(record); ok && r.wanted(options) && !r.partial {
			lines++
		}
		return nil
	}, func() {})
	return max(0, lines-*options.Tail), err
}

// each calls visit for each record, oldest first, and idle before it waits for more.
func (l *Log) each(ctx context.Context, follow bool, visit func([]byte) error, idle func()) error {
	if older, err := os.Open(l.older()); err == nil {
		err := eachRecord(bufio.NewReader(older), new([]byte), visit)
		if err := errors.Join(err, older.Close()); err != nil {
			return err
		}
	}
	for {
		// Looked at before the file, so that nothing written in between is missed.
		_, generation, _ := l.state()
		file, err := os.Open(l.path)
		if err != nil {
			return fmt.Errorf("open the log: %w", err)
		}
		more, err := l.eachOf(ctx, file, generation, follow, visit, idle)
		if err := errors.Join(err, file.Close()); err != nil || !more {
			return err
		}
	}
}

// eachOf visits the records of one file. It returns true when a newer file has taken its place.
func (l *Log) eachOf(ctx context.Context, file io.Reader, generation int, follow bool, visit func([]byte) error,
	idle func()) (bool, error) {
	reader, rest := bufio.NewReaderSize(file, maxLine), []byte{}
	for {
		open, current, changed := l.state()
		if err := eachRecord(reader, &rest, visit); err != nil {
			return false, err
		}
		if current != generation {
			return true, nil
		}
		if !follow || !open {
			return false, nil
		}
		idle()
		select {
		case <-changed:
		case <-ctx.Done():
			return false, nil
		}
	}
}

// eachRecord visits the complete records up to the end of what is there. The beginning of a record stays in rest.
func eachRecord(reader *bufio.Reader, rest *[]byte, visit func([]byte) error) error {
	for {
		piece, err := reader.ReadBytes('\n')
		*rest = append(*rest, piece...)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if err := visit(*rest); err != nil {
			return err
		}
		*rest = (*rest)[:0]
	}
}

// record is one parsed line of the file.
type record struct {
	time    []byte
	stream  Stream
	partial bool
	text    []byte
}

func parse(line []byte) (record, bool) {
	fields := bytes.SplitN(bytes.TrimSuffix(line, []byte("\n")), []byte(" "), 4)
	if len(fields) < 4 {
		return record{}, false
	}
	return record{fields[0], Stream(fields[1]), string(fields[2]) == "P", fields[3]}, true
}

func (r record) wanted(options Options) bool {
	if options.Stream != "" && r.stream != options.Stream {
		return false
	}
	if options.Since.IsZero() {
		return true
	}
	written, err := time.Parse(time.RFC3339Nano, string(r.time))
	return err == nil && !written.Before(options.Since)
}

// printer turns records into what the user sees.
type printer struct {
	to      io.Writer
	flush   func()
	options Options
	skip    int64
	left    int64 // bytes; negative for no limit
	middle  bool  // the last record was a piece without the line's end
}

func (p *printer) print(line []byte) error {
	r, ok := parse(line)
	if !ok || !r.wanted(p.options) {
		return nil
	}
	if p.skip > 0 {
		if !r.partial {
			p.skip--
		}
		return nil
	}
	var out []byte
	if p.options.Timestamps && !p.middle {
		out = append(append(out, r.time...), ' ')
	}
	out = append(out, r.text...)
	if !r.partial {
		out = append(out, '\n')
	}
	p.middle = r.partial
	if p.left >= 0 {
		out = out[:min(int64(len(out)), p.left)]
		p.left -= int64(len(out))
	}
	if _, err := p.to.Write(out); err != nil {
		return fmt.Errorf("show the log: %w", err)
	}
	if p.left == 0 {
		return errLimit
	}
	return nil
}
