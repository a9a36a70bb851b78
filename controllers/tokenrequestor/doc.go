// Package tokenrequestor gives Secrets of a control-plane namespace tokens of ServiceAccounts in the shoot, and renews
// them in time (docs/third-party-extensions.md#access-to-the-shoot). It runs in the resource manager of the shoot, and
// so only where the shoot's API server does. What a ServiceAccount may do in the shoot is not its business.
package tokenrequestor
