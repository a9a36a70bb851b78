package userdata

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"iter"
	"mime"
	"mime/multipart"
	"net/mail"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// form is a way in which files are packed into user data.
type form struct {
	name string
	// parts are what is packed in this form in a document; none if it has nothing of the form.
	parts func(content []byte) iter.Seq[[]byte]
}

// forms are all that are looked for, in this order.
var forms = []form{
	{"gzip", gzipped},
	{"MIME", mimeParts},
	{"data URL", dataURLs},
	{"YAML or JSON", scalars},
	{"base64", base64Runs},
	{"shell quotes", unquoted},
	{"escaped text", unescaped},
}

var gzipMagic = []byte{0x1f, 0x8b}

// gzipped is the content of a gzip file.
func gzipped(content []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		reader, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			return
		}
		reader.Multistream(false) // what is behind it is no matter of it
		// One more than is accepted in all: the search ends at its limit.
		text, err := io.ReadAll(io.LimitReader(reader, maxBytes+1))
		if err == nil || len(text) > 0 {
			yield(text)
		}
	}
}

// mimeParts are those of a MIME message of several parts, as cloud-init takes them.
func mimeParts(content []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		message, err := mail.ReadMessage(bytes.NewReader(content))
		if err != nil {
			return
		}
		kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
		if err != nil || !strings.HasPrefix(kind, "multipart/") {
			return
		}
		reader := multipart.NewReader(message.Body, parameters["boundary"])
		for {
			part, err := reader.NextPart() // which decodes quoted-printable; base64 is a form of its own
			if err != nil {
				return
			}
			if text, err := io.ReadAll(part); err != nil || !yield(text) {
				return
			}
		}
	}
}

var dataURL = regexp.MustCompile(`data:[^\s"'<>,]*,[^\s"'<>]*`)

// dataURLs are the contents of data URLs (RFC 2397), as Ignition has them.
func dataURLs(content []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, found := range dataURL.FindAll(content, -1) {
			head, data, _ := strings.Cut(string(found), ",")
			text, err := url.PathUnescape(data)
			if err != nil {
				continue
			}
			part := []byte(text)
			if strings.HasSuffix(head, ";base64") {
				part = decodeBase64(part)
			}
			if len(part) > 0 && !yield(part) {
				return
			}
		}
	}
}

// scalars are the texts in YAML documents, of which JSON is one: cloud-config, Ignition, Butane, Talos and the like.
func scalars(content []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		decoder := yaml.NewDecoder(bytes.NewReader(content))
		for {
			root := &yaml.Node{}
			if err := decoder.Decode(root); err != nil {
				return // the end, or no YAML
			}
			for _, top := range root.Content {
				// A script may be one scalar.
				if top.Kind != yaml.ScalarNode && !eachScalar(top, yield) {
					return
				}
			}
		}
	}
}

// eachScalar goes through a document without following aliases: what they stand for has been met.
func eachScalar(node *yaml.Node, yield func([]byte) bool) bool {
	if node.Kind == yaml.ScalarNode {
		return node.Tag != "!!str" && node.Tag != "!!binary" || yield([]byte(node.Value))
	}
	for _, child := range node.Content {
		if !eachScalar(child, yield) {
			return false
		}
	}
	return true
}

// base64Line is a text that may be a line of base64: a shorter one cannot hold, or begin, a node file.
var base64Line = regexp.MustCompile(`[A-Za-z0-9+/_-]{16,}={0,2}`)

// base64Runs are what is encoded as base64, in one line or wrapped over several of equal length.
func base64Runs(content []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var run []byte // of whole lines
		flush := func() bool {
			part := decodeBase64(run)
			run = nil
			return len(part) == 0 || yield(part)
		}
		width := 0
		for line := range bytes.Lines(content) {
			line = bytes.TrimSpace(line)
			found := base64Line.FindIndex(line)
			whole := len(line) > 0 && (found != nil && found[0] == 0 && found[1] == len(line) || len(run) > 0 && isBase64(line))
			if whole && (len(run) == 0 || len(line) <= width) {
				if len(run) == 0 {
					width = len(line)
				}
				if run = append(run, line...); len(line) == width {
					continue
				}
			} else if found != nil {
				for _, one := range base64Line.FindAll(line, -1) {
					if part := decodeBase64(one); len(part) > 0 && !yield(part) {
						return
					}
				}
			}
			if len(run) > 0 && !flush() {
				return
			}
		}
		if len(run) > 0 {
			flush()
		}
	}
}

func isBase64(line []byte) bool {
	return len(bytes.Trim(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=")) == 0
}

var standardBase64 = strings.NewReplacer("-", "+", "_", "/", "=", "")

// decodeBase64 is what a text in base64 stands for, of both alphabets and with or without padding; nil if that is
// neither text nor gzip. A word behind the text may be taken for its end, so the last bytes may be anything.
func decodeBase64(text []byte) []byte {
	clean := standardBase64.Replace(string(text))
	part, err := base64.RawStdEncoding.DecodeString(clean[:len(clean)-len(clean)%4])
	if err != nil {
		return nil
	}
	if rest, err := base64.RawStdEncoding.DecodeString(clean[len(clean)-len(clean)%4:]); err == nil {
		part = append(part, rest...)
	}
	const tail = 8
	if bytes.HasPrefix(part, gzipMagic) || isText(part) || len(part) > tail && isText(part[:len(part)-tail]) {
		return part
	}
	return nil
}

func isText(part []byte) bool { return utf8.Valid(part) && bytes.IndexByte(part, 0) < 0 }

var shellQuotes = strings.NewReplacer(`'\''`, `'`, `'"'"'`, `'`)

// unquoted is a text in single quotes of a shell that has single quotes in it.
func unquoted(content []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if bytes.Contains(content, []byte(`''`)) || bytes.Contains(content, []byte(`'"'`)) {
			yield([]byte(shellQuotes.Replace(string(content))))
		}
	}
}

var escape = regexp.MustCompile(`\\(?:x[0-9A-Fa-f]{2}|[0-7]{3}|.)`)

// unescaped is a text without its backslashes: one in double quotes of a shell or of another language, or printf's.
func unescaped(content []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if bytes.IndexByte(content, '\\') < 0 || !isText(content) {
			return
		}
		yield(escape.ReplaceAllFunc(content, func(found []byte) []byte {
			text, err := strconv.Unquote(`"` + string(found) + `"`)
			if errors.Is(err, strconv.ErrSyntax) {
				return found[1:]
			}
			return []byte(text)
		}))
	}
}
