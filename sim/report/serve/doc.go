// Package serve shows the runs of a folder in a browser on this machine, while they go on too. It listens on loopback
// only and answers nobody who calls it by another name, so that no page from elsewhere can read what it shows. It
// changes nothing: reports are made when they are asked for, and kept nowhere.
package serve
