package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// edit is one changed place. It names no file, so that code may move within its package.
type edit struct {
	// In is the folder of the package, from the root of the repository, where Old is replaced by New. Old must be there
	// once, in all Go files but tests.
	In  string `json:"in"`
	Old string `json:"old"`
	New string `json:"new"`
	// File, a name without a folder, is the only one that is looked at; where no longer Old would do.
	File string `json:"file,omitempty"`
}

// lay writes changed files, named from the root of the repository, and the overlay that puts them into the tree.
func lay(root, work string, changed map[string][]byte) (overlay string, err error) {
	replace := map[string]string{}
	for i, file := range slices.Sorted(maps.Keys(changed)) {
		original, err := filepath.Abs(filepath.Join(root, file))
		if err != nil {
			return "", err
		}
		replace[original] = filepath.Join(work, fmt.Sprintf("changed%d.go", i))
		if err := os.WriteFile(replace[original], changed[file], 0o600); err != nil {
			return "", err
		}
	}
	description, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(work, "overlay.json")
	return overlay, os.WriteFile(overlay, description, 0o600)
}

// changed are the contents of the files with the bug in them, by path. The root is that of the repository.
func (m mutant) changed(root string) (map[string][]byte, error) {
	changed := map[string][]byte{}
	for _, e := range m.edits() {
		contents, err := e.candidates(root)
		if err != nil {
			return nil, err
		}
		for file := range contents {
			if earlier, is := changed[file]; is { // by an edit before this one
				contents[file] = earlier
			}
		}
		file, content, err := e.plant(contents)
		if err != nil {
			return nil, err
		}
		changed[file] = content
	}
	return changed, nil
}

// candidates are the files in which the edit may be made, by path, with what is in them.
func (e edit) candidates(root string) (map[string][]byte, error) {
	entries, err := os.ReadDir(filepath.Join(root, e.In))
	if err != nil {
		return nil, err
	}
	contents := map[string][]byte{}
	for _, entry := range entries {
		name := entry.Name()
		other := e.File != "" && name != e.File
		if other || entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		path := filepath.Join(e.In, name)
		if contents[path], err = os.ReadFile(filepath.Join(root, path)); err != nil {
			return nil, err
		}
	}
	if len(contents) == 0 {
		return nil, fmt.Errorf("%s has no Go file but tests, or none of the name that is given", filepath.Join(e.In, e.File))
	}
	return contents, nil
}

// plant gives the file that has Old, and what is in it then.
func (e edit) plant(contents map[string][]byte) (file string, content []byte, err error) {
	if e.Old == "" {
		return "", nil, fmt.Errorf("an edit of %s has no old text", e.In)
	}
	var places []string
	for _, path := range slices.Sorted(maps.Keys(contents)) {
		for at := range occurrences(contents[path], []byte(e.Old)) {
			places = append(places, fmt.Sprintf("%s:%d", path, 1+bytes.Count(contents[path][:at], []byte("\n"))))
			file = path
		}
	}
	switch len(places) {
	case 0:
		return "", nil, fmt.Errorf("%s has no %q", filepath.Join(e.In, e.File), e.Old)
	case 1:
		return file, bytes.Replace(contents[file], []byte(e.Old), []byte(e.New), 1), nil
	}
	return "", nil, fmt.Errorf("%s has %q %d times, at %s: give a longer old text, or the file beside in",
		filepath.Join(e.In, e.File), e.Old, len(places), strings.Join(places, ", "))
}

// occurrences are the places of a text, in bytes, also of those that overlap.
func occurrences(content, text []byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		for from := 0; ; {
			at := bytes.Index(content[from:], text)
			if at < 0 || !yield(from+at) {
				return
			}
			from += at + 1
		}
	}
}
