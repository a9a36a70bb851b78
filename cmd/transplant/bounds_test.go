package main

import (
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// hostileFlags are values that nobody means, by the types of flags.
func hostileFlags(t *testing.T) map[string][]string {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	numbers := []string{"-2", "NaN", "1e308", "99999999999999999999", "9223372036854775807", "0x", ""}
	paths := []string{"/dev/zero", pipe}
	return map[string][]string{
		"duration": {"-1s", "1ns", "2562047h", "99999999h", "NaN", "1e308", "0s", "1"},
		"int":      numbers, "int32": numbers, "int64": numbers,
		"uint64":  {"-1", "NaN", "1e308", "99999999999999999999"},
		"float64": {"NaN", "Inf", "-Inf", "-1", "1e308", "0", "5e-324", ""},
		"bool":    {"maybe", "2"}, "boolfunc": {"maybe", "2"},
		"uint16":   {"-1", "NaN", "1e308", "65536"},
		"NAME=DIR": {"x", ""}, "fail|last-good": {"x", ""},
		"FORM":        {"x", ""},
		"SHOOT=RANGE": {"", "x", "x=", "x=1", "=127.16.0.0/16", "x=10.0.0.0/16", "x=127.16.0.0/17"},
		"PART/PARTS":  {"", "/", "0/3", "4/3", "-1/3", "1/99999999999999999999", "NaN/2"},
		"string":      paths, "stringSlice": paths, "stringArray": paths, "stringToString": {"x"},
	}
}

// allowedFlags are hostile values that a flag accepts, and why.
var allowedFlags = map[string]string{
	"epoch 9223372036854775807": "a number that is compared",
}

// Every flag of every command refuses what nobody means, and names itself. No command runs: its own checks are behind
// these.
func TestBounds_EveryFlag(t *testing.T) {
	t.Parallel()
	hostile, tried := hostileFlags(t), 0
	var walk func(command *cobra.Command, words []string)
	walk = func(command *cobra.Command, words []string) {
		for _, child := range command.Commands() {
			walk(child, append(words[:len(words):len(words)], child.Name()))
		}
		if !command.Runnable() || len(words) == 0 {
			return
		}
		flags := command.Flags()
		flags.AddFlagSet(command.InheritedFlags())
		flags.VisitAll(func(f *pflag.Flag) {
			values, known := hostile[f.Value.Type()]
			// What reads itself from a text, such as an address, refuses what it is not.
			if text := f.Value.Type(); !known && text != "" && !strings.HasPrefix(text, "*netip.") {
				t.Errorf("%s --%s: no hostile value of type %s is tried", strings.Join(words, " "), f.Name, f.Value.Type())
			}
			for _, value := range values {
				tried++
				switch ran, err := parse(words, "--"+f.Name+"="+value); {
				case ran && allowed(f, value) == "":
					t.Errorf("%s --%s=%s is accepted", strings.Join(words, " "), f.Name, value)
				case !ran && (err == nil || !strings.Contains(err.Error(), "--"+f.Name)):
					t.Errorf("%s --%s=%s: error %v", strings.Join(words, " "), f.Name, value, err)
				}
			}
		})
	}
	walk(newCommand(), nil)
	if tried < 500 {
		t.Errorf("only %d values were tried", tried)
	}
}

// allowed says why a value is accepted; empty if it must not be.
func allowed(f *pflag.Flag, value string) string {
	zero := value == "0s" || value == "0"
	switch {
	case zero && isZero(f.DefValue):
		return "not given"
	case zero:
		return zeroMeans[f.Name]
	}
	return allowedFlags[f.Name+" "+value]
}

// parse a command line up to the command itself.
func parse(words []string, flag string) (ran bool, err error) {
	root := newCommand()
	command, _, err := root.Find(words)
	if err != nil {
		return false, err
	}
	command.Args, command.Run = nil, nil
	command.RunE = func(*cobra.Command, []string) error { ran = true; return nil }
	root.SetArgs(append(words[:len(words):len(words)], flag))
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	err = root.Execute()
	if err != nil && (strings.Contains(err.Error(), "required flag") || strings.Contains(err.Error(),
		"flags in the group")) {
		return true, nil // the value was accepted
	}
	return ran, err
}
