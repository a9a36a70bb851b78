// Package userdata finds the node file in the user data of a machine. The node file is what the gardenlet puts into an
// OperatingSystemConfig, and what a machine joins its shoot by (api/cloud.NodeUserData). An extension for an operating
// system packs it into a script, a cloud-config, an Ignition configuration or whatever its machines read.
//
// It runs no script and writes no file: it decodes what is packed, until a text has the form of a node file. How much
// it decodes is limited.
package userdata
