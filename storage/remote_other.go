//go:build unix && !linux

package storage

// remoteFileSystem reports false where the kind of a file system is not known.
func remoteFileSystem(string) bool { return false }
