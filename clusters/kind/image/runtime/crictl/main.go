// Command crictl is the small part of cri-tools' crictl that kind calls on a node: "inspecti IMAGE" and "images".
//
// It prints what crictl prints for them, JSON with the fields status.id and status.repoTags, and a table. Nothing else
// of crictl is here; who wants to look closer takes ctr.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	socket = "unix:///run/containerd/containerd.sock"
	usage  = "usage: crictl inspecti IMAGE | crictl images"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // the process ends, and its timer with it
	}
}

func run(ctx context.Context, args []string) error {
	connection, err := grpc.NewClient(socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connect to the container runtime: %w", err)
	}
	defer connection.Close()
	images := runtime.NewImageServiceClient(connection)
	switch {
	case len(args) == 2 && args[0] == "inspecti":
		return inspect(ctx, images, args[1])
	case len(args) == 1 && args[0] == "images":
		return list(ctx, images)
	default:
		return fmt.Errorf("unknown arguments %q; %s", args, usage)
	}
}

func inspect(ctx context.Context, images runtime.ImageServiceClient, name string) error {
	answer, err := images.ImageStatus(ctx, &runtime.ImageStatusRequest{Image: &runtime.ImageSpec{Image: name}})
	if err != nil {
		return fmt.Errorf("ask for the image %q: %w", name, err)
	}
	if answer.GetImage() == nil {
		return fmt.Errorf("no such image %q present", name)
	}
	text, err := protojson.MarshalOptions{Indent: "  ", EmitUnpopulated: true}.Marshal(answer.GetImage())
	if err != nil {
		return fmt.Errorf("write the image %q as JSON: %w", name, err)
	}
	_, err = fmt.Printf("{\n  \"status\": %s\n}\n", text)
	return err
}

func list(ctx context.Context, images runtime.ImageServiceClient) error {
	answer, err := images.ListImages(ctx, &runtime.ListImagesRequest{})
	if err != nil {
		return fmt.Errorf("list the images: %w", err)
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "IMAGE\tIMAGE ID\tSIZE")
	for _, image := range answer.GetImages() {
		fmt.Fprintf(table, "%s\t%s\t%d\n", strings.Join(image.GetRepoTags(), ","), image.GetId(), image.GetSize())
	}
	return table.Flush()
}
