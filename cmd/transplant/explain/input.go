package explain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/output"
	"github.com/transplant-sim/transplant/api/userfile"
)

// maxInput bounds a file, and a question, in bytes: they are read into memory.
const maxInput = 64 << 20

// choice says which object is meant where a file has several of the kind.
type choice struct {
	// by is the field that says so, in a sentence; "" if nothing does.
	by   string
	fits func(object []byte) bool
}

// readObject reads an object of the wire API from a file, YAML or JSON, "-" for standard input. The file may hold other
// objects, and lists. Fields that are not known here are named on standard error, and those that are not set are filled
// in as an API server does.
func readObject(command *cobra.Command, flag, path, kind string, into metav1.Object, which choice) error {
	content, err := readFile(command, path)
	if err != nil {
		return fmt.Errorf("read the %s (--%s): %w", kind, flag, err)
	}
	documents, err := readDocuments(content)
	if err != nil {
		return fmt.Errorf("read the %s in %s: %w", kind, path, err)
	}
	d, err := pick(documents, kind, flag, which)
	if err != nil {
		return fmt.Errorf("read the %s in %s: %w", kind, path, err)
	}
	if err := errors.Join(checkVersion(kind, d.APIVersion, "apiVersion"), decode(d.content, into)); err != nil {
		return fmt.Errorf("read the %s in %s: %w", kind, path, d.inList(err))
	}
	newWarnings(command.ErrOrStderr()).print(unknowns(d.content, into), func(u unknown) string {
		if line := d.line(content, u.path); line > 0 {
			return fmt.Sprintf("%s:%d", path, line)
		}
		return path
	})
	if object, has := into.(gardencorev1beta1.Defaulted); has {
		object.SetDefaults()
	}
	return nil
}

// pick finds the one object of a kind that is meant.
func pick(documents []document, kind, flag string, which choice) (document, error) {
	found := slices.Clone(documents)
	found = slices.DeleteFunc(found, func(d document) bool { return d.Kind != kind })
	if len(found) == 0 {
		return document{}, fmt.Errorf("field kind is %s: give the file of a %s with --%s", kindsOf(documents), kind, flag)
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var names []string
	var fitting []document
	for _, d := range found {
		var object metav1.PartialObjectMetadata
		if err := decode(d.content, &object); err != nil {
			return document{}, d.inList(err)
		}
		names = append(names, strings.TrimPrefix(object.Namespace+"/"+object.Name, "/"))
		if which.fits != nil && which.fits(d.content) {
			fitting = append(fitting, d)
		}
	}
	if len(fitting) == 1 {
		return fitting[0], nil
	}
	asked := "give a file with one of them"
	if which.by != "" {
		asked = fmt.Sprintf("none of them is the one of %s; %s", which.by, asked)
	}
	some := strings.Join(names[:min(len(names), mostNamed)], ", ")
	return document{}, fmt.Errorf("it has %d objects of kind %s (%s): %s", len(found), kind, some, asked)
}

// mostNamed is how many objects of a file are named.
const mostNamed = 10

func kindsOf(documents []document) string {
	kinds := sets.New[string]()
	for _, d := range documents {
		kinds.Insert(strconv.Quote(d.Kind))
	}
	return cmp.Or(strings.Join(sets.List(kinds), ", "), `""`)
}

// named chooses by name and namespace.
func named(by, namespace, name string) choice {
	if name == "" {
		return choice{}
	}
	return choice{by: by, fits: func(content []byte) bool {
		var object metav1.PartialObjectMetadata
		return decode(content, &object) == nil && object.Name == name && object.Namespace == namespace
	}}
}

func readFile(command *cobra.Command, path string) ([]byte, error) {
	if path == "-" {
		return userfile.ReadAll(command.InOrStdin(), "standard input", maxInput)
	}
	content, err := userfile.Read(path, maxInput)
	if errors.Is(err, userfile.ErrNotRegular) {
		return nil, fmt.Errorf("%w, or - for standard input", err)
	}
	return content, err
}

// nowFlag is the moment that is asked about: that of the machine, unless --now says another.
type nowFlag struct{ text string }

func (f *nowFlag) register(command *cobra.Command) {
	command.Flags().StringVar(&f.text, "now", "",
		"time for which to answer, for example 2026-11-21T12:00:00Z (default: now)")
}

func (f *nowFlag) time(present clock.PassiveClock) (time.Time, error) {
	if f.text == "" {
		return present.Now().UTC(), nil
	}
	now, err := time.Parse(time.RFC3339Nano, f.text)
	if err != nil {
		return time.Time{}, fmt.Errorf("read --now: %q is no time of the form 2026-11-21T12:00:00Z", f.text)
	}
	return now, nil
}

// orPresent is the moment that a question is about: the present if it names none.
func orPresent(now *time.Time) *time.Time {
	if now == nil {
		present := clock.RealClock{}.Now().UTC()
		return &present
	}
	return now
}

// outputFlag is the form of an answer for people: text, or JSON or YAML for their programs.
type outputFlag struct{ *output.Form }

func (f *outputFlag) register(command *cobra.Command) { f.Form = output.AddFlag(command) }

// required says which of a topic's flags are missing.
func required(flags ...[2]string) error {
	for _, flag := range flags {
		if flag[1] == "" {
			return fmt.Errorf("set --%s, or --jsonl to answer questions from standard input", flag[0])
		}
	}
	return nil
}
