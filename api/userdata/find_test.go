package userdata_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/userdata"
)

// node is what is packed in each of the tests.
func node(t *testing.T) (*cloud.NodeUserData, string) {
	t.Helper()
	data := &cloud.NodeUserData{
		Shoot: "shoot--p--alpha", Server: "https://api.alpha.p.shoots.transplant.test:9443",
		CAData: bytes.Repeat([]byte("certificate\n"), 40), Token: `it's a "token" with \backslashes\ and $signs`,
		Pool:   "pool-1",
		Taints: []cloud.Taint{{Key: "k", Value: "v", Effect: "NoSchedule"}},
	}
	text, err := data.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return data, text
}

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func zip(t *testing.T, text string) string {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

// wrap breaks a text into lines.
func wrap(text string, width int, indent string) string {
	var lines strings.Builder
	for len(text) > 0 {
		n := min(width, len(text))
		lines.WriteString(indent + text[:n] + "\n")
		text = text[n:]
	}
	return lines.String()
}

func quote(t *testing.T, text string) string {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(quoted)
}

func octal(text string) string {
	var all strings.Builder
	for _, b := range []byte(text) {
		fmt.Fprintf(&all, `\%03o`, b)
	}
	return all.String()
}

func hex(text string) string {
	var all strings.Builder
	for _, b := range []byte(text) {
		fmt.Fprintf(&all, `\x%02x`, b)
	}
	return all.String()
}

func indented(t *testing.T, text string) string {
	t.Helper()
	var all bytes.Buffer
	if err := json.Indent(&all, []byte(text), "      ", "  "); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestFind_EveryForm_NodeFileIsFound(t *testing.T) {
	t.Parallel()
	want, text := node(t)
	sorted := map[string]any{}
	if err := json.Unmarshal([]byte(text), &sorted); err != nil {
		t.Fatal(err)
	}
	sorted["annotations"] = map[string]string{"a": "b"} // which comes first, and holds a brace
	resorted, err := json.Marshal(sorted)
	if err != nil {
		t.Fatal(err)
	}
	script := func(body string) string {
		return "#!/bin/bash -eu\n\nmkdir -p /etc/transplant\n" + body + "\nsystemctl daemon-reload\n"
	}
	cloudConfig := func(file string) string {
		return "#cloud-config\nruncmd:\n- systemctl restart containerd\nwrite_files:\n- path: /etc/motd\n  content: hello\n" +
			"- path: /etc/transplant/node.json\n  permissions: '0600'\n" + file
	}
	ignition := func(source, compression string) string {
		return `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/transplant/node.json","contents":{` +
			`"compression":"` + compression + `","source":` + quote(t, source) + `}}]}}`
	}
	heredoc := script("cat << EOF | base64 -d > /etc/transplant/node.json\n" + b64(text) + "\nEOF")
	mime := func(parts ...string) string {
		all := "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n"
		for _, part := range parts {
			all += "--//\n" + part + "\n"
		}
		return all + "--//--\n"
	}
	for name, packed := range map[string]string{
		"as it is":                 text,
		"with other fields first":  string(resorted),
		"heredoc, base64":          heredoc,
		"heredoc, base64 in lines": script("base64 -d > /x <<'EOF'\n" + wrap(b64(text), 76, "") + "EOF"),
		"heredoc, base64 in full lines": script("base64 -d > /x <<'EOF'\n" +
			wrap(b64(text), len(b64(text))/4, "") + "EOF"),
		"heredoc, base64 in lines, CRLF": strings.ReplaceAll(
			script("base64 -d <<X\n"+wrap(b64(text), 64, "")+"X"), "\n", "\r\n"),
		"heredoc, plain":                  script("cat > /etc/transplant/node.json <<'EOF'\n" + text + "\nEOF"),
		"heredoc, JSON in lines":          script("cat > /etc/transplant/node.json <<'EOF'\n" + indented(t, text) + "\nEOF"),
		"echo, base64":                    script("echo '" + b64(text) + "' | base64 -d > /etc/transplant/node.json"),
		"echo, base64 of gzip":            script("echo " + b64(zip(t, text)) + "|base64 -d|gunzip > /x"),
		"here string, base64 without pad": script("base64 -d <<<" + base64.RawURLEncoding.EncodeToString([]byte(text))),
		"printf, double quotes":           script("printf '%s' " + quote(t, text)),
		"printf, single quotes":           script(`printf '%s' '` + strings.ReplaceAll(text, `'`, `'\''`) + `'`),
		"printf, octal":                   script("printf '" + octal(text) + "'"),
		"ANSI C quotes, hexadecimal":      script("echo $'" + hex(text) + "'"),
		"cloud-config, b64":               cloudConfig("  encoding: b64\n  content: " + b64(text) + "\n"),
		"cloud-config, b64 in lines":      cloudConfig("  encoding: b64\n  content: |\n" + wrap(b64(text), 70, "    ")),
		"cloud-config, b64 folded":        cloudConfig("  encoding: b64\n  content: >-\n" + wrap(b64(text), 70, "    ")),
		"cloud-config, gz+b64":            cloudConfig("  encoding: gz+b64\n  content: " + b64(zip(t, text)) + "\n"),
		"cloud-config, binary":            cloudConfig("  content: !!binary " + b64(text) + "\n"),
		"cloud-config, plain":             cloudConfig("  content: |\n    " + text + "\n"),
		"cloud-config, quoted":            cloudConfig("  content: " + quote(t, text) + "\n"),
		"cloud-config, JSON in lines":     cloudConfig("  content: |\n    " + indented(t, text) + "\n"),
		"Ignition, base64":                ignition("data:text/plain;charset=utf-8;base64,"+b64(text), ""),
		"Ignition, percent":               ignition("data:,"+url.PathEscape(text), ""),
		"Ignition, gzip":                  ignition("data:;base64,"+b64(zip(t, text)), "gzip"),
		"Butane, inline": "variant: flatcar\nversion: 1.1.0\nstorage:\n  files:\n  - path: /etc/transplant/node.json\n" +
			"    contents:\n      inline: " + quote(t, text) + "\n",
		"Talos": "version: v1alpha1\nmachine:\n  files:\n  - path: /var/node.json\n    permissions: 0o600\n    op: create\n" +
			"    content: |-\n      " + text + "\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: x\n",
		"MIME, script and cloud-config": mime("Content-Type: text/x-shellscript\n\n#!/bin/sh\necho hello",
			"Content-Type: text/cloud-config\n\n"+cloudConfig("  content: "+quote(t, text)+"\n")),
		"MIME, base64": mime("Content-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\n" +
			wrap(b64(heredoc), 76, "")),
		"MIME, quoted-printable": mime("Content-Type: text/x-shellscript\nContent-Transfer-Encoding: quoted-printable\n\n" +
			"cat <<X\n" + strings.ReplaceAll(strings.ReplaceAll(text, "=", "=3D"), `"`, "=22") + "\nX"),
		"gzip of a script":         zip(t, heredoc),
		"gzip of MIME":             zip(t, mime("Content-Type: text/x-shellscript\n\n"+heredoc)),
		"base64 of a script":       b64(heredoc),
		"script in a cloud-config": cloudConfig("  encoding: gz+b64\n  content: " + b64(zip(t, heredoc)) + "\n"),
		"another node file before it that is none": script(`echo '{"shoot":"x"}' '{"shoot": 1, {"shoot" }}'` + "\n" +
			"base64 -d <<EOF\n" + b64(text) + "\nEOF"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := userdata.Find([]byte(packed))
			if err != nil {
				t.Fatal(err)
			}
			if name == "with other fields first" {
				got.Annotations = nil
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFind_NoNodeFile_SaysWhatWasLookedAt(t *testing.T) {
	t.Parallel()
	deep := "#!/bin/sh\nexit 1\n"
	for range 12 {
		deep = zip(t, deep)
	}
	var wide strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&wide, "- word number %d\n", i)
	}
	for name, test := range map[string]struct {
		packed string
		want   []string
	}{
		"nothing": {"", []string{"(0 bytes)", "contain no node file"}},
		"script":  {"#!/bin/sh\nexit 0\n", []string{"(17 bytes)", "contain no node file"}},
		"cloud-config": {"#cloud-config\nwrite_files:\n- content: " + b64(strings.Repeat("hello ", 9)) + "\n",
			[]string{"packed in them as YAML or JSON, base64"}},
		"bare": {`x {"shoot":"s","server":"http://x","token":"t"}`,
			[]string{"what looks like one is refused", `server: "http://x" is not an https URL`}},
		"bomb":    {zip(t, strings.Repeat("0", 64<<20)), []string{"limit of 32 MiB when unpacked"}},
		"deep":    {deep, []string{"limit of 8 encodings inside of each other"}},
		"wide":    {wide.String(), []string{"limit of 20000 documents"}},
		"aliases": {"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n", []string{"contain no node file"}},
		"braces":  {strings.Repeat(`{"shoot":`, 30_000), []string{"contain no node file"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := userdata.Find([]byte(test.packed))
			missing := &userdata.MissingError{}
			if got != nil || !errors.As(err, &missing) {
				t.Fatalf("found %v with %v, want a MissingError", got, err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("says %q, want %q in it", err, want)
				}
			}
		})
	}
}

// Whatever the bytes are, the search ends without a panic.
func FuzzFind(f *testing.F) {
	for _, seed := range []string{"", "#cloud-config\na: [b", "\x1f\x8b", "data:;base64,AAAA", `{"shoot":"s"}`,
		"Content-Type: multipart/mixed; boundary=x\n\n--x\n\nAAAAAAAAAAAAAAAAAAAAAAAA\n--x--"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if node, err := userdata.Find(content); (node == nil) == (err == nil) {
			t.Errorf("node %v and error %v, want one of them", node, err)
		}
	})
}
