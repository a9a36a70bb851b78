// Package etcd has the two commands that stand beside a shoot's etcd in its pod: the guard and the backup sidecar
// (ARCHITECTURE.md, "A shoot's etcd pod"; docs/ownership.md#spec-9-2).
//
//	transplant etcd-guard --listen=$(POD_IP):2379 --http-listen=$(POD_IP):2381 --api-listen=$(POD_IP):2382
//	    --endpoint=unix:///run/etcd.sock
//	    --ca-file=… --cert-file=… --key-file=… --data-dir=…
//	    --garden-kubeconfig=… --lease=<namespace>/<name> --cloud-kubeconfig=… --owner-record=<name>
//	    --owner=<Seed UID> --epoch=<n> --owner-check-interval=5s --owner-check-timeout=30s
//	    --backup-url=https://$(POD_IP):8081
//
//	transplant etcd-backup restore|serve --cloud-kubeconfig=… --bucket-file=… --prefix=<entry>/etcd-main
//	    --epoch=<n> …
//
// serve has --ca-file, --cert-file, --key-file and --api-listen too. Who may ask what is in access.
//
// --data-dir is etcd's own data directory. Which epoch it belongs to, and what its guard remembers, is kept in its
// folder "ownership"; so the volume is mounted into all containers, and the folder above it must be writable, because
// a restore replaces the directory as a whole. A backup object that is missing or damaged is an error that names it.
//
// The StatefulSet that runs them is built by package controlplane. The parts are in guard, backup, datadir and access.
package etcd
