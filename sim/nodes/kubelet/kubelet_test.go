package kubelet_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/nodes/kubelet"
)

func TestServer_WhatKubectlAsksFor_SaysWhyThereIsNone(t *testing.T) {
	t.Parallel()
	server, err := kubelet.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	client := &http.Client{Transport: &http.Transport{ // as an API server without an authority of kubelets
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12},
	}}
	for path, want := range map[string]string{
		"/containerLogs/default/web/nginx": `pod "web" has no logs. Its node is simulated`,
		"/exec/default/web/nginx?input=1":  `pod "web" runs no program: exec is not possible`,
		"/attach/default/web/nginx":        `pod "web" runs no program: attach is not possible`,
		"/portForward/default/web":         `pod "web" listens on no port`,
		"/metrics":                         "the node is simulated, and has no kubelet",
		"/exec":                            "the node is simulated, and has no kubelet",
	} {
		response, err := client.Get("https://" + server.At().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusBadRequest || !strings.HasPrefix(string(body), want) {
			t.Errorf("%s: %v, %d %s; want %s", path, err, response.StatusCode, body, want)
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestListen_AddressOfAllInterfaces_IsReachedByOneOfThem(t *testing.T) {
	t.Parallel()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for _, one := range all {
		if network, is := one.(*net.IPNet); is && network.IP.To4() != nil && !network.IP.IsLoopback() {
			own = append(own, network.IP.String())
		}
	}
	server, err := kubelet.Listen("0.0.0.0:0")
	if len(own) == 0 {
		if err == nil || !strings.Contains(err.Error(), "no IPv4 address but that of its loopback") {
			t.Errorf("on a machine without addresses: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if at := server.At(); !slices.Contains(own, at.Addr().String()) || at.Port() == 0 {
		t.Errorf("it is reached at %s, the machine at %s", at, own)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := server.Serve(ctx); err != nil {
		t.Error(err)
	}
}

func TestListen_NoAddress_SaysSo(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"", "nodes:10250", "127.0.0.1"} {
		if _, err := kubelet.Listen(wrong); err == nil || !strings.Contains(err.Error(), "address of kubelets") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
