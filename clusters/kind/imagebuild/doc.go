// Package imagebuild makes container images of Debian's packages and Go programs with this machine's Docker, for
// machines that cannot pull the published ones.
package imagebuild
