// Package catalogue finds scenario files in folders: by the names of the scenarios in them, and by their labels.
//
// It reads no more of a file than its metadata and its why. Whether the rest is right is for package scenario to say,
// and what is done with the files is up to the caller.
package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/transplant-sim/transplant/api/spelling"
	"github.com/transplant-sim/transplant/api/userfile"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// maxSize of a file in bytes, as that of scenario files.
const maxSize = 1 << 20

// Entry is a scenario file.
type Entry struct {
	// Name of the scenario; of a file that cannot be read it is that of the file.
	Name string
	// Labels of the scenario.
	Labels labels.Set
	// Why is the promise of the scenario, in a sentence.
	Why string
	// Path of the file.
	Path string
	// Unread is why the metadata cannot be read, or nil.
	Unread error
}

// Catalogue is the scenario files of some folders, by name.
type Catalogue struct {
	folders []string
	entries []Entry
}

// Read finds the scenario files in folders, however deep they lie. Hidden folders, and YAML files of another kind, are
// passed over. A folder that is not there is an error.
func Read(folders ...string) (*Catalogue, error) {
	c := &Catalogue{folders: folders}
	for _, folder := range folders {
		err := fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != ".":
				return fs.SkipDir
			case entry.IsDir() || !IsYAML(path):
				return nil
			}
			if found, is := read(filepath.Join(folder, path)); is {
				c.entries = append(c.entries, found)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("look for scenarios in the folder %s: %w", folder, reason(err))
		}
	}
	slices.SortStableFunc(c.entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return c, nil
}

// reason is an error without the path, which within a folder is relative to that.
func reason(err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) && at.Path == "." {
		return at.Err
	}
	return err
}

// IsYAML says whether a path is that of a YAML file, by its name.
func IsYAML(path string) bool { return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) }

// File is the entry of one file, whatever its kind.
func File(path string) Entry {
	entry, _ := read(path)
	return entry
}

// read the metadata of a file, and say whether it is a scenario: one that cannot be read may be.
func read(path string) (Entry, bool) {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	content, err := userfile.Read(path, maxSize)
	if err != nil {
		return Entry{Name: name, Path: path, Unread: err}, true
	}
	var head struct {
		Kind     string `yaml:"kind"`
		Metadata struct {
			Name   string            `yaml:"name"`
			Labels map[string]string `yaml:"labels"`
		} `yaml:"metadata"`
		Spec struct {
			Why string `yaml:"why"`
		} `yaml:"spec"`
	}
	if err := yaml.Unmarshal(content, &head); err != nil {
		return Entry{Name: name, Path: path, Unread: err}, true
	}
	return Entry{Name: head.Metadata.Name, Labels: head.Metadata.Labels, Why: head.Spec.Why, Path: path},
		head.Kind == scenario.Kind
}

// UnknownError is why a name finds no scenario.
type UnknownError struct{ text string }

func (e *UnknownError) Error() string { return e.text }

// Find gives the scenario of this name. The error of an unknown one is an *UnknownError and says which may be meant;
// that of a name that two files have names both.
func (c *Catalogue) Find(name string) (Entry, error) {
	var found []Entry
	for _, e := range c.entries {
		if e.Name == name {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Entry{}, c.unknown(name)
	}
	var paths []string
	for _, e := range found {
		paths = append(paths, e.Path)
	}
	return Entry{}, fmt.Errorf("the scenario %q is in %s; give the path of one", name, strings.Join(paths, " and in "))
}

func (c *Catalogue) unknown(name string) *UnknownError {
	names, where := make([]string, len(c.entries)), strings.Join(c.folders, " and ")
	for i, e := range c.entries {
		names[i] = e.Name
	}
	if len(names) == 0 {
		return &UnknownError{fmt.Sprintf("there is no scenario %q: there are none in %s", name, where)}
	}
	if meant := spelling.Likeliest(name, names); meant != "" {
		return &UnknownError{fmt.Sprintf("there is no scenario %q in %s (did you mean %q?)", name, where, meant)}
	}
	return &UnknownError{fmt.Sprintf("there is no scenario %q in %s, and none with a name like it", name, where)}
}

// Select gives the scenarios whose labels match, by name. Files that cannot be read are among them: nobody knows
// whether they match, and who parses them says what is wrong.
func (c *Catalogue) Select(selector labels.Selector) []Entry {
	return Filter(c.entries, selector)
}

// Filter keeps the entries whose labels match, and those that cannot be read, in their order.
func Filter(entries []Entry, selector labels.Selector) []Entry {
	var kept []Entry
	for _, e := range entries {
		if e.Unread != nil || selector.Matches(e.Labels) {
			kept = append(kept, e)
		}
	}
	return kept
}
