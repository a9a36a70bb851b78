package constants

// Secrets in a shoot's namespace of the seed, unless said otherwise.
const (
	// SecretNameEtcdBackup has the credentials of the backup bucket.
	SecretNameEtcdBackup = "etcd-backup"
	// SecretNameSourceEtcdBackup has those of the bucket that a restore reads from.
	SecretNameSourceEtcdBackup = "source-etcd-backup"
	// SecretNamePrefixBackupEntry, followed by a BackupEntry's name, is in the namespace garden.
	SecretNamePrefixBackupEntry = "entry-"
	// SecretNamePrefixDNSRecord, followed by a DNSRecord's name, has the DNS credentials.
	SecretNamePrefixDNSRecord = "dnsrecord-"
)

// Namespaces and names.
const (
	// GardenNamespace is the landscape's own namespace, in garden and seeds.
	GardenNamespace = "garden"
	// SeedLeaseNamespace is the garden's namespace of the Leases that gardenlets renew.
	SeedLeaseNamespace = "gardener-system-seed-lease"
	// ProjectNamespacePrefix, followed by a project's name, is its namespace in the garden.
	ProjectNamespacePrefix = "garden-"
	// TechnicalIDPrefix begins the technical id of every shoot: shoot--<project>--<shoot>.
	TechnicalIDPrefix = "shoot--"
	// BackupSourcePrefix begins the names of the BackupEntry that a restore reads from, and of what belongs to it.
	BackupSourcePrefix = "source"
	// DNSRecordExternalSuffix ends the name of the DNSRecord of the external domain.
	DNSRecordExternalSuffix = "external"
	// SeedOutside is what status.seedName of a Shoot says, and the record of its owner, while its control plane runs
	// outside any seed. No Seed has this name.
	SeedOutside = "outside"
	// HeartbeatLease is the Lease by which an extension shows that it lives.
	HeartbeatLease = "gardener-extension-heartbeat"
)

// Keys of ours: ownership (docs/ownership.md#spec-9-1) and state of any size
// (docs/specification/state-size.md#spec-9-5).
const (
	// OwnershipEpoch is the annotation with the epoch on an ownership Lease.
	OwnershipEpoch = "transplant.dev/epoch"
	// OwnershipOwner and OwnershipRecord are annotations of a control-plane namespace, beside that with its epoch: the
	// owner, which is the UID of the Seed, and the name of the TXT record in DNS that gives it the epoch.
	OwnershipOwner  = "transplant.dev/owner"
	OwnershipRecord = "transplant.dev/owner-record"
	// OwnershipPhase is an annotation of a control-plane namespace, beside that with its epoch: how far the epoch has come
	// there (docs/adr/0018-tenure.md).
	OwnershipPhase = "transplant.dev/phase"
	// OwnershipSeed is the annotation with the owner's name on an ownership Lease, whose holder is the Seed's UID.
	OwnershipSeed = "transplant.dev/seed"
	// HandOver is the annotation of a Shoot whose control plane runs outside any seed: the seed that is to get it.
	HandOver = "transplant.dev/hand-over"
	// StateGzip is the key of a state that was compressed: {"transplant.dev/gzip": "<base64>"}.
	StateGzip = "transplant.dev/gzip"
	// StateRef is the key of a state that was moved to ShootStateChunks:
	// {"transplant.dev/ref": {"chunks": […], "sha256": …, "bytes": n}}.
	StateRef = "transplant.dev/ref"
	// StateLeaving is the annotation on a ShootState whose shoot's source takes the control plane down: when it was last
	// saved there, to the nanosecond. From then on objects may be gone whose state is only here.
	StateLeaving = "transplant.dev/leaving"
	// StateOver is the annotation on a ShootStateChunk with the version of the ShootState that the one replaces for which
	// the chunk was last written; "none/" and the UID of the Shoot if there was none.
	StateOver = "transplant.dev/over"
	// Nodes is the annotation on a Shoot that says what its machines are; NodesReal is its only value: their pods run, and
	// the control plane reaches them through a tunnel. It is set when the Shoot is created.
	Nodes     = "transplant.dev/nodes"
	NodesReal = "real"
)
