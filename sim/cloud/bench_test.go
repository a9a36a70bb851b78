package cloud

import (
	"strings"
	"testing"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// BenchmarkCalls measures calls through TLS to the disk and back: one after the other, and many at once.
func BenchmarkCalls(b *testing.B) {
	cloud := start(b, Options{})
	client, ctx := cloud.as(b, "extensions-a"), b.Context()
	zone := must(client.Zones().Create(ctx, &api.Zone{Name: "shoots.transplant.test"}))(b)
	bucket := bucketOf(b, client)
	content := strings.Repeat("x", 16<<10)
	calls := map[string]func() error{
		"record/get": func() error { _, err := client.Zones().Get(ctx, zone.ID); return err },
		"record/put": func() error { _, err := client.Records(zone.ID).Put(ctx, ownerSet("e1"), api.If{}); return err },
		"object/put": func() error {
			_, err := bucket.Put(ctx, "k", strings.NewReader(content), api.PutOptions{})
			return err
		},
	}
	for name, call := range calls {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if err := call(); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
