// Package vpn is the tunnel by which the API server of a shoot reaches its nodes: vpn-seed-server beside the API
// server, and vpn-shoot, a pod in the shoot (docs/specification/nodes-and-seeds.md#spec-7-4).
//
// Nothing outside a shoot can connect to its nodes. So vpn-shoot connects to the gateway of the seed that has the
// shoot, names vpn-seed-server there, and keeps the connection open. Through it vpn-seed-server sends each HTTP CONNECT
// of the API server as a request of HTTP/2, in the direction against that of the connection.
//
// It deploys nothing, and it decides nothing about what the API server may reach: vpn-shoot connects to whatever it
// asks for.
package vpn
