// Package delta encodes what etcd's watch reports, and replays it into the database file of a snapshot. A delta is the
// events of a range of revisions, with the leases that they need. Where deltas are kept, and which of them continue
// which snapshot, is for package backup to say.
package delta
