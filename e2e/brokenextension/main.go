// Command brokenextension is an extension that does not work, in the way that its argument says: it ends at once, or it
// goes on and answers nothing. It is for the test of what a run says about such extensions, and no example.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	switch habit := os.Args[len(os.Args)-1]; habit {
	case "ends":
		fmt.Println("starting the extension")
		fmt.Fprintln(os.Stderr, "cannot read the configuration: no such setting")
		os.Exit(3)
	case "sleeps":
		fmt.Println("waiting for a leader that never comes")
		stopped := make(chan os.Signal, 1)
		signal.Notify(stopped, syscall.SIGTERM)
		<-stopped
	default:
		fmt.Fprintf(os.Stderr, "unknown habit %q\n", habit)
		os.Exit(2)
	}
}
