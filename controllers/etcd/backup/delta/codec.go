package delta

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

// format is the version of the encoding of deltas.
const format = 1

// maxEvent bounds one event: etcd takes no request above a few MiB.
const maxEvent = 64 << 20

// header is the first line of a delta.
type header struct {
	Format int `json:"format"`
	// Leases are the granted time to live, in seconds, of leases that the delta's keys are attached to.
	Leases map[int64]int64 `json:"leases,omitempty"`
}

// Encode writes events, each with its length before it, compressed. leases are the granted time to live, in seconds, of
// leases that the events attach keys to.
func Encode(events []*mvccpb.Event, leases map[int64]int64) ([]byte, error) {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	first, err := json.Marshal(header{Format: format, Leases: leases})
	if err != nil {
		return nil, fmt.Errorf("encode the header of a delta: %w", err)
	}
	var buffer []byte
	buffer = append(append(buffer, first...), '\n')
	for _, event := range events {
		message, err := proto.Marshal(event)
		if err != nil {
			return nil, fmt.Errorf("encode an event of revision %d: %w", event.Kv.ModRevision, err)
		}
		buffer = append(binary.AppendUvarint(buffer, uint64(len(message))), message...)
		if _, err := zip.Write(buffer); err != nil {
			return nil, err
		}
		buffer = buffer[:0]
	}
	if _, err := zip.Write(buffer); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// reader reads events back one by one.
type reader struct {
	header header
	zip    *gzip.Reader
	in     *bufio.Reader
}

func newReader(r io.Reader) (*reader, error) {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("open the delta: %w", err)
	}
	d := &reader{zip: zip, in: bufio.NewReader(zip)}
	line, err := d.in.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("read the header of the delta: %w", err)
	}
	if err := json.Unmarshal(line, &d.header); err != nil {
		return nil, fmt.Errorf("decode the header of the delta: %w", err)
	}
	if d.header.Format != format {
		return nil, fmt.Errorf("decode the header of the delta: format %d is unknown", d.header.Format)
	}
	return d, nil
}

// next event; io.EOF after the last.
func (d *reader) next() (*mvccpb.Event, error) {
	size, err := binary.ReadUvarint(d.in)
	if err != nil {
		return nil, err
	}
	if size > maxEvent {
		return nil, fmt.Errorf("read an event: %d bytes are more than any event has", size)
	}
	message := make([]byte, size)
	if _, err := io.ReadFull(d.in, message); err != nil {
		return nil, errors.Join(errors.New("read an event"), err)
	}
	event := &mvccpb.Event{}
	if err := proto.Unmarshal(message, event); err != nil {
		return nil, fmt.Errorf("decode an event: %w", err)
	}
	if event.Kv == nil {
		return nil, errors.New("decode an event: it has no key")
	}
	return event, nil
}
