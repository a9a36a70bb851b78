// Command attacker is what an attacking pod runs. "attacker wait" does nothing until SIGTERM. "attacker"
// reads attempts (package knocktest) as a JSON list from its standard input, makes them, and prints their outcomes as
// a list in the same order. An attempt without a token is made with that of the pod's ServiceAccount, if it has one.
//
// It needs nothing of its image but itself.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/transplant-sim/transplant/e2e/knocktest"
)

const (
	tokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	atOnce    = 64 // attempts: most wait for an alert that does not come
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "wait" {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		<-signals
		return
	}
	if err := attack(os.Stdin, os.Stdout, tokenFile); err != nil {
		fmt.Fprintln(os.Stderr, "attacker:", err)
		os.Exit(1)
	}
}

// attack makes the attempts, with the token in the file if it is there.
func attack(in io.Reader, out io.Writer, token string) error {
	var attempts []knocktest.Attempt
	if err := json.NewDecoder(in).Decode(&attempts); err != nil {
		return fmt.Errorf("read the attempts: %w", err)
	}
	own, err := os.ReadFile(token)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the token of the ServiceAccount: %w", err)
	}
	outcomes := make([]knocktest.Outcome, len(attempts))
	turns := make(chan struct{}, atOnce)
	var underway sync.WaitGroup
	for i, attempt := range attempts {
		if attempt.Token == "" {
			attempt.Token = string(own)
		}
		turns <- struct{}{}
		underway.Go(func() {
			outcomes[i] = attempt.Make()
			<-turns
		})
	}
	underway.Wait()
	return json.NewEncoder(out).Encode(outcomes)
}
