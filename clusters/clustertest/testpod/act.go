package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// write replaces a file: write PATH WORD….
func write(args []string) error {
	if len(args) == 0 {
		return expect(args, 2)
	}
	return os.WriteFile(args[0], []byte(strings.Join(args[1:], " ")), 0o644)
}

func appendLine(args []string) error {
	if len(args) == 0 {
		return expect(args, 2)
	}
	file, err := os.OpenFile(args[0], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(file, strings.Join(args[1:], " ")); err != nil {
		return err
	}
	return file.Close()
}

func remove(paths []string) error {
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// countUp adds one to the number in a file.
func countUp(path string) (int, error) {
	content, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return 0, err
	}
	n, _ := strconv.Atoi(string(content)) // an empty file is zero
	n++
	return n, os.WriteFile(path, []byte(strconv.Itoa(n)), 0o644)
}

func count(args []string) error {
	if err := expect(args, 1); err != nil {
		return err
	}
	n, err := countUp(args[0])
	fmt.Printf("count %d\n", n)
	return err
}

// failUntil fails before the n-th call: fail-until PATH N.
func failUntil(args []string) error {
	if err := expect(args, 2); err != nil {
		return err
	}
	enough, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	n, err := countUp(args[0])
	if err == nil && n < enough {
		fmt.Printf("attempt %d fails\n", n)
		return exitError(1)
	}
	return err
}

func exit(args []string) error {
	if err := expect(args, 1); err != nil {
		return err
	}
	code, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	return exitError(code)
}

// pause does nothing for a while: pause 1s.
func pause(args []string) error {
	if err := expect(args, 1); err != nil {
		return err
	}
	duration, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	time.Sleep(duration)
	return nil
}

// sleep waits for SIGTERM, says so, and lets the next step follow.
func sleep([]string) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	fmt.Println("waiting for SIGTERM")
	<-signals
	_, err := fmt.Println("got SIGTERM")
	return err
}

// ignoreTerm makes only SIGKILL end the program.
func ignoreTerm([]string) error {
	signal.Ignore(syscall.SIGTERM)
	fmt.Println("ignoring SIGTERM")
	for {
		time.Sleep(time.Hour)
	}
}

// termTakes waits for SIGTERM and then takes its time: term-takes 1s.
func termTakes(args []string) error {
	if err := sleep(nil); err != nil {
		return err
	}
	if err := pause(args); err != nil {
		return err
	}
	_, err := fmt.Println("done")
	return err
}
