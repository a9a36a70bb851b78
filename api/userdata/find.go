package userdata

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/api/cloud"
)

// Bounds of a search. User data are limited to 1 MiB in the cloud; what is packed in them may be larger.
const (
	maxDepth     = 8        // encodings inside of each other
	maxDocuments = 20_000   // that are looked at
	maxBytes     = 32 << 20 // of all of them together
)

// MissingError says that user data contain no node file.
type MissingError struct {
	Size  int      // of the user data, in bytes
	Forms []string // that were decoded in them, such as "gzip"
	Bound string   // that ended the search before everything was looked at; empty for none
	Cause error    // why the last document was refused that looks like a node file; nil for none
}

// Error implements error.
func (e *MissingError) Error() string {
	text := fmt.Sprintf("the user data (%d bytes) contain no node file of the operating system config", e.Size)
	if len(e.Forms) > 0 {
		text += ", also not in what is packed in them as " + strings.Join(e.Forms, ", ")
	}
	if e.Bound != "" {
		text += "; the search ended at its limit of " + e.Bound
	}
	if e.Cause != nil {
		text += "; what looks like one is refused: " + e.Cause.Error()
	}
	return text
}

// Unwrap is why the last document was refused that looks like a node file.
func (e *MissingError) Unwrap() error { return e.Cause }

// document is user data, or what was decoded from a part of them.
type document struct {
	content []byte
	depth   int
}

// Find returns the node file that user data contain. If they contain none, the error is a *MissingError.
func Find(content []byte) (*cloud.NodeUserData, error) {
	missing := &MissingError{Size: len(content)}
	seen, bytesLeft := map[string]bool{string(content): true}, maxBytes
	for queue := []document{{content: content}}; len(queue) > 0; queue = queue[1:] {
		next := queue[0]
		node, err := nodeFile(next.content)
		if node != nil {
			return node, nil
		}
		if err != nil {
			missing.Cause = err
		}
		for _, form := range forms {
			for part := range form.parts(next.content) {
				if seen[string(part)] {
					continue
				}
				bytesLeft -= len(part)
				if missing.Bound = boundOf(next.depth+1, len(seen), bytesLeft); missing.Bound != "" {
					return nil, missing
				}
				seen[string(part)] = true
				if !slices.Contains(missing.Forms, form.name) {
					missing.Forms = append(missing.Forms, form.name)
				}
				queue = append(queue, document{part, next.depth + 1})
			}
		}
	}
	return nil, missing
}

func boundOf(depth, documents, bytesLeft int) string {
	switch {
	case depth > maxDepth:
		return fmt.Sprintf("%d encodings inside of each other", maxDepth)
	case documents > maxDocuments:
		return fmt.Sprintf("%d documents", maxDocuments)
	case bytesLeft < 0:
		return fmt.Sprintf("%d MiB when unpacked", maxBytes>>20)
	}
	return ""
}

// IsMissing is whether an error says that user data contain no node file.
func IsMissing(err error) bool {
	_, is := errors.AsType[*MissingError](err)
	return is
}

const (
	// mark is in every node file: a key of its object.
	mark = `"shoot"`
	// maxMarks of a text, and maxOpenings before one of them, are tried.
	maxMarks, maxOpenings = 16, 16
)

// nodeFile is the node file in a text, wherever it stands. The error is why something that looks like one is none.
func nodeFile(text []byte) (*cloud.NodeUserData, error) {
	var refused error
	at := 0
	for range maxMarks {
		found := bytes.Index(text[at:], []byte(mark))
		if found < 0 {
			break
		}
		at += found
		before := text[:at]
		for range maxOpenings {
			open := bytes.LastIndexByte(before, '{')
			if open < 0 {
				break
			}
			before = text[:open]
			var raw json.RawMessage
			if json.NewDecoder(bytes.NewReader(text[open:])).Decode(&raw) != nil {
				continue
			}
			node, err := cloud.ParseNodeUserData(string(raw))
			if err == nil {
				return node, nil
			}
			refused = err
		}
		at += len(mark)
	}
	return nil, refused
}
