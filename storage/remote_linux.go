package storage

import "syscall"

// remoteFileSystem reports whether dir is on a network file system, whose
// locks may not queue as local ones do.
func remoteFileSystem(dir string) bool {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return false
	}
	switch uint32(stat.Type) {
	case 0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x5346414f, 0x65735546: // NFS, SMB, CIFS, SMB2, 9P, AFS, FUSE
		return true
	}
	return false
}
