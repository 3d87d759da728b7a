//go:build unix && !linux

package storage

import "os"

// syncData makes the data of file durable.
func syncData(file *os.File) error { return file.Sync() }
