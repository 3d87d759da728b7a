package storage

import (
	"os"
	"syscall"
)

// syncData makes the data of file durable, without its times.
func syncData(file *os.File) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		for failed = syscall.Fdatasync(int(fd)); failed == syscall.EINTR; {
			failed = syscall.Fdatasync(int(fd))
		}
	})
	if err != nil {
		return err
	}
	return os.NewSyscallError("fdatasync", failed)
}
