package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

func printLine(args []string) error {
	_, err := fmt.Println(strings.Join(args, " "))
	return err
}

func printError(args []string) error {
	_, err := fmt.Fprintln(os.Stderr, strings.Join(args, " "))
	return err
}

// printArgs shows each argument by itself.
func printArgs(args []string) error {
	_, err := fmt.Printf("%q\n", args)
	return err
}

func printEnv(names []string) error {
	for _, name := range names {
		value, set := os.LookupEnv(name)
		if !set {
			value = "(unset)"
		}
		fmt.Printf("%s=%s\n", name, value)
	}
	return nil
}

func printID([]string) error {
	groups, err := os.Getgroups()
	if err != nil {
		return err
	}
	_, err = fmt.Printf("uid=%d gid=%d groups=%v\n", os.Getuid(), os.Getgid(), groups)
	return err
}

func printPID([]string) error {
	_, err := fmt.Printf("pid=%d\n", os.Getpid())
	return err
}

func printHostname([]string) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	_, err = fmt.Println(name)
	return err
}

func cat(paths []string) error {
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Println(strings.TrimSuffix(string(content), "\n"))
	}
	return nil
}

// stat shows the mode of what a path leads to.
func stat(paths []string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		gid := "?"
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			gid = fmt.Sprint(s.Gid)
		}
		fmt.Printf("%s %v gid=%s\n", path, info.Mode(), gid)
	}
	return nil
}

func list(paths []string) error {
	for _, path := range paths {
		entries, err := os.ReadDir(path)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if !strings.HasPrefix(entry.Name(), "..") {
				fmt.Println(entry.Name())
			}
		}
	}
	return nil
}

// exists fails when a path leads nowhere.
func exists(paths []string) error {
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			return err
		}
	}
	return nil
}

const (
	awaitPoll  = 50 * time.Millisecond
	awaitBound = time.Minute
)

// awaitFile waits until a file has a content: await-file PATH CONTENT.
func awaitFile(args []string) error {
	if err := expect(args, 2); err != nil {
		return err
	}
	var content []byte
	for end := time.Now().Add(awaitBound); time.Now().Before(end); time.Sleep(awaitPoll) {
		content, _ = os.ReadFile(args[0])
		if strings.TrimSpace(string(content)) == args[1] {
			_, err := fmt.Printf("%s is %q\n", args[0], args[1])
			return err
		}
	}
	return fmt.Errorf("%s is still %q after %s", args[0], content, awaitBound)
}
