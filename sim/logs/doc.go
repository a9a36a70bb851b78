// Package logs reads and keeps what actors have logged: the last lines of a container, through the API of its cluster,
// and whole files, cut to a size that a folder of evidence bears.
//
// It understands no line of them, and knows neither backends nor which logs there are.
package logs
