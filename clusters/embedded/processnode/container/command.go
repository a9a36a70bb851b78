package container

import "io"

// Command is a further process in a running container.
type Command struct {
	Args   []string
	Env    []string
	Dir    string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer // not used with a terminal
	TTY    bool
	Resize <-chan Size // sizes of the terminal, until closed
}

// Size of a terminal, in characters.
type Size struct{ Width, Height uint16 }
