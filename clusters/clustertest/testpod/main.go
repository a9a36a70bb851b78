// Command testpod is what the pods of clustertest run: small steps, one after the other, each naming one thing that a
// pod can see or do. Steps are separated by "--":
//
//	testpod print hello -- cat /etc/config/key -- sleep
//
// It needs nothing of its image but itself.
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// step does one thing. Its arguments exclude its name.
type step func(args []string) error

// exitError ends the program with an exit code of the test's choice.
type exitError int

func (e exitError) Error() string { return "exit " + strconv.Itoa(int(e)) }

var steps = map[string]step{
	"print": printLine, "printerr": printError, "env": printEnv, "args": printArgs, "id": printID,
	"hostname": printHostname,
	"cat":      cat, "write": write, "append": appendLine, "stat": stat, "ls": list, "rm": remove, "exists": exists,
	"await-file": awaitFile,
	"count":      count, "fail-until": failUntil, "exit": exit, "pid": printPID, "pause": pause,
	"sleep": sleep, "ignore-term": ignoreTerm, "term-takes": termTakes,
	"get": get, "refused": refused, "whoami": whoami, "serve": serve, "serve-grpc": serveGRPC,
}

func main() {
	for _, args := range split(os.Args[1:]) {
		if len(args) == 0 {
			continue
		}
		run, known := steps[args[0]]
		if !known {
			fmt.Fprintf(os.Stderr, "testpod: no step %q\n", args[0])
			os.Exit(64)
		}
		if err := run(args[1:]); err != nil {
			if code, is := errors.AsType[exitError](err); is {
				os.Exit(int(code))
			}
			fmt.Fprintf(os.Stderr, "testpod: %s: %v\n", args[0], err)
			os.Exit(1)
		}
	}
}

func split(args []string) [][]string {
	var out [][]string
	for {
		i := slices.Index(args, "--")
		if i < 0 {
			return append(out, args)
		}
		out = append(out, args[:i])
		args = args[i+1:]
	}
}

// expect takes the number of arguments that a step needs.
func expect(args []string, n int) error {
	if len(args) != n {
		return fmt.Errorf("got %d arguments, want %d", len(args), n)
	}
	return nil
}
