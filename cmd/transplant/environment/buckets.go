package environment

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/switchboard"
	simcloud "github.com/transplant-sim/transplant/sim/cloud"
	"github.com/transplant-sim/transplant/sim/cloud/blobs"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// BucketURLVariable names the store of the buckets' contents where no flag does.
const BucketURLVariable = "TRANSPLANT_BUCKET_URL"

const bucketFlag = "bucket-url"

// Buckets says where the contents of the simulated cloud's buckets lie: in each landscape's run directory, or all in
// one store of the user's. Every landscape has a folder of its own there, which it takes to be all its own.
type Buckets struct {
	URL string // as gocloud.dev/blob opens it; empty for the run directory
}

// AddFlags adds the flag that sets the store, once: backends may share it.
func (b *Buckets) AddFlags(flags *pflag.FlagSet) {
	if flags.Lookup(bucketFlag) != nil {
		return
	}
	flags.StringVar(&b.URL, bucketFlag, os.Getenv(BucketURLVariable),
		"where the contents of the cloud's buckets are: s3://bucket?region=… (with the AWS CLI's environment variables for "+
			"the credentials) or file:///path; each landscape replaces the folder there that has its name (default: $"+
			BucketURLVariable+", or a folder in the run directory)")
}

// Check says what is wrong with the URL, on a backend. It opens nothing.
func (b *Buckets) Check(backend string) error {
	if b.URL == "" {
		return nil
	}
	parsed, err := blobs.ParseURL(b.URL)
	if err != nil {
		return fmt.Errorf("--%s: %w", bucketFlag, err)
	}
	if backend == rundir.Kind && parsed.Scheme == "file" {
		return fmt.Errorf("--%s %s: the cloud is a container on backend %s, which does not see the folder: leave it out, "+
			"or name an S3 bucket", bucketFlag, b.URL, backend)
	}
	return nil
}

// CheckFrom says why the buckets of a checkpoint cannot be in the store: they are in its folder.
func (b *Buckets) CheckFrom() error {
	if b.URL == "" {
		return nil
	}
	return fmt.Errorf("--%s %s: a checkpoint has its buckets with it: leave the flag out, and unset $%s", bucketFlag,
		b.URL, BucketURLVariable)
}

// of is the store of one landscape.
func (b *Buckets) of(landscape string) (string, error) {
	parsed, err := blobs.ParseURL(b.URL)
	if err != nil {
		return "", fmt.Errorf("--%s: %w", bucketFlag, err)
	}
	query := parsed.Query()
	query.Set("prefix", query.Get("prefix")+landscape+"/")
	folder := url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path, RawQuery: query.Encode()}
	return folder.String(), nil
}

// credentials are the variables from which a client of S3 knows who it is, and where the store is.
var credentials = []string{
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION",
	"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REQUEST_CHECKSUM_CALCULATION", "AWS_RESPONSE_CHECKSUM_VALIDATION",
}

// inherited are the variables that a companion gets as a process of this machine. One that needs credentials finds the
// files that other variables name, and proxies, which a container does not.
func inherited(c clusters.Companion) []string {
	if len(c.Env) == 0 {
		return nil
	}
	return append([]string{"AWS_*", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"},
		c.Env...)
}

// GardenBucket has the backups of the garden's etcd, below gardenPrefix.
const (
	GardenBucket = "garden"
	gardenPrefix = "etcd"
)

// gardenBackupPort serves health and metrics of the backup, at the garden's own address.
const gardenBackupPort = "8080"

// gardenBackupToken of the actor that keeps the garden's bucket.
func gardenBackupToken(token string) simcloud.Token {
	return simcloud.Token{Token: token, Identity: landscape.GardenBackup, Bucket: GardenBucket,
		Roles: []simcloud.Role{simcloud.RoleBucket}}
}

// backUpGarden backs the garden's etcd up from now on, as the etcds of shoots are.
func backUpGarden(ctx context.Context, s *Environment, l *embedded.Landscape) error {
	content, err := s.cloudKubeconfig(l, landscape.GardenBackup)
	if err != nil {
		return err
	}
	if err := l.Dir().WriteKubeconfig(landscape.GardenBackup, switchboard.Cloud, content); err != nil {
		return err
	}
	client, err := cloud.FromKubeconfig(content, cloud.Options{})
	if err != nil {
		return err
	}
	if _, err := client.Buckets().Create(ctx, &cloud.Bucket{Name: GardenBucket}); err != nil {
		return fmt.Errorf("create the bucket of the garden: %w", err)
	}
	garden, err := embedded.FilesOf(l, landscape.Garden)
	if err != nil {
		return err
	}
	if err := os.WriteFile(bucketFile(garden), []byte(GardenBucket), 0o600); err != nil {
		return fmt.Errorf("write the name of the garden's bucket: %w", err)
	}
	return embedded.Accompany(l, landscape.Garden, embedded.Program{Name: "etcd-backup", Args: append(
		gardenBackupArgs(l, garden, "serve"), "--endpoint="+program.EtcdSocket,
		"--listen="+net.JoinHostPort(garden.Address.String(), gardenBackupPort),
		"--delta-interval="+s.Settings.DeltaInterval.String(), "--full-interval="+s.Settings.FullSnapshotInterval.String(),
	)})
}

// RestoreGarden makes the data of a garden that has lost its disk, and does not run, of its newest backup. What was
// written after that is lost. Keys, certificates and kubeconfigs are files, and were not on that disk.
func RestoreGarden(ctx context.Context, l Landscape) error {
	on, can := l.(*embedded.Landscape)
	if !can {
		return errors.New("restore the garden: its backups are on the embedded backend only")
	}
	garden, err := embedded.FilesOf(on, landscape.Garden)
	if err != nil {
		return err
	}
	return embedded.RunBeside(ctx, on, landscape.Garden, embedded.Program{Name: "etcd-restore", Args: append(
		gardenBackupArgs(on, garden, "restore"), "--member-name="+garden.Name, "--peer-url="+garden.EtcdPeerURL(),
	)})
}

func gardenBackupArgs(l *embedded.Landscape, garden program.Cluster, subcommand string) []string {
	return []string{"etcd-backup", subcommand, "--unowned",
		"--cloud-kubeconfig=" + l.Dir().Kubeconfig(landscape.GardenBackup, switchboard.Cloud),
		"--bucket-file=" + bucketFile(garden), "--prefix=" + gardenPrefix, "--data-dir=" + garden.EtcdData()}
}

func bucketFile(garden program.Cluster) string { return filepath.Join(garden.Dir, "bucket") }
