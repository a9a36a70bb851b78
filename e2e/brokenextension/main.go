// Command brokenextension is an extension that does not work, in the way that its argument says: it ends at once,
// or it goes on and answers nothing. It is for the tests of what runs and the contract kit say about such extensions,
// and no example.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
)

func main() {
	switch fault := os.Args[len(os.Args)-1]; fault {
	case "ends":
		fmt.Println("starting the extension")
		fmt.Fprintln(os.Stderr, "cannot read the configuration: no such setting")
		os.Exit(3)
	case "sleeps":
		fmt.Println("waiting for a leader that never comes")
		waitForSignal()
	case "listens":
		if _, err := net.Listen("tcp", os.Getenv("LISTEN")); err != nil {
			fmt.Fprintln(os.Stderr, "cannot serve metrics:", err)
			os.Exit(1)
		}
	case "asks":
		fmt.Fprintln(os.Stderr, askForKind())
		waitForSignal()
	case "lists":
		fmt.Fprintln(os.Stderr, "cannot fill the cache:", listSecrets())
		waitForSignal()
	default:
		fmt.Fprintf(os.Stderr, "unknown fault %q\n", fault)
		os.Exit(2)
	}
}

func waitForSignal() {
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGTERM)
	<-stopped
}

// listSecrets of its seed.
func listSecrets() error {
	seed, err := config.GetConfig()
	if err != nil {
		return err
	}
	c, err := client.New(seed, client.Options{})
	if err != nil {
		return err
	}
	return c.List(context.Background(), &corev1.SecretList{})
}

// askForKind asks its seed for a kind that it does not serve.
func askForKind() error {
	seed, err := config.GetConfig()
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(seed)
	if err != nil {
		return err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(seed, client)
	if err != nil {
		return err
	}
	_, err = mapper.RESTMapping(schema.GroupKind{Group: "vault.example", Kind: "Safe"}, "v1")
	return err
}
