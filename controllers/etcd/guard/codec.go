package guard

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// frame is one message of any type, as bytes.
type frame struct{ data mem.BufferSlice }

// codec passes frames through without looking into them. It answers to the name of the ordinary codec, so that
// neither side notices.
type codec struct{}

var _ encoding.CodecV2 = codec{}

// Marshal implements encoding.CodecV2. It gives the frame's buffers away.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	f, ok := v.(*frame)
	if !ok {
		return nil, fmt.Errorf("pass on a message: it is a %T", v)
	}
	data := f.data
	f.data = nil
	return data, nil
}

// Unmarshal implements encoding.CodecV2. The frame keeps the buffers beyond the call.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return fmt.Errorf("take in a message: it is a %T", v)
	}
	data.Ref()
	f.data = data
	return nil
}

// Name implements encoding.CodecV2.
func (codec) Name() string { return "proto" }
