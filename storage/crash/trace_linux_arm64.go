package crash

import (
	"syscall"
	"unsafe"
)

const (
	architecture = 0xC00000B7 // AUDIT_ARCH_AARCH64
	noCall       = ^uint64(0) // as a call's number: make none
)

// The sets of registers that the kernel knows by number.
const (
	generalSet = 1     // NT_PRSTATUS
	callSet    = 0x404 // NT_ARM_SYSTEM_CALL
)

// registers are those of a stopped thread.
type registers syscall.PtraceRegs

func readRegisters(pid int) (r registers, err error) {
	return r, exchange(syscall.PTRACE_GETREGSET, pid, generalSet, unsafe.Pointer(&r), unsafe.Sizeof(r))
}

func (r *registers) write(pid int) error {
	return exchange(syscall.PTRACE_SETREGSET, pid, generalSet, unsafe.Pointer(r), unsafe.Sizeof(*r))
}

// renumber makes the call about to be made another one.
func (r *registers) renumber(pid int, number uint64) error {
	if err := r.write(pid); err != nil {
		return err
	}
	short := int32(number)
	return exchange(syscall.PTRACE_SETREGSET, pid, callSet, unsafe.Pointer(&short), unsafe.Sizeof(short))
}

func exchange(request, pid int, set uintptr, data unsafe.Pointer, size uintptr) error {
	vector := syscall.Iovec{Base: (*byte)(data), Len: uint64(size)}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, uintptr(request), uintptr(pid), set,
		uintptr(unsafe.Pointer(&vector)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// argument is the i-th argument of a call, from 1.
func (r *registers) argument(i int) *uint64 { return &r.Regs[i-1] }

func (r *registers) result() *uint64 { return &r.Regs[0] }

// trap is the instruction that makes a system call.
var trap = []byte{0x01, 0x00, 0x00, 0xd4}

// inject prepares a call of the tracer's own, made by the instruction at pc.
func (r *registers) inject(number uint64) { r.Regs[8] = number }

func (r *registers) pc() uint64 { return r.Pc }

func (r *registers) sp() uint64 { return r.Sp }

var callNames = map[uint64]string{
	syscall.SYS_OPENAT:          "openat",
	437:                         "openat2",
	syscall.SYS_MKNODAT:         "mknodat",
	syscall.SYS_MKDIRAT:         "mkdirat",
	syscall.SYS_FCHMOD:          "fchmod",
	syscall.SYS_FCHMODAT:        "fchmodat",
	452:                         "fchmodat2",
	syscall.SYS_WRITE:           "write",
	syscall.SYS_PWRITE64:        "pwrite64",
	syscall.SYS_WRITEV:          "writev",
	syscall.SYS_PWRITEV:         "pwritev",
	287:                         "pwritev2",
	syscall.SYS_SENDFILE:        "sendfile",
	285:                         "copy_file_range",
	syscall.SYS_SPLICE:          "splice",
	syscall.SYS_TRUNCATE:        "truncate",
	syscall.SYS_FTRUNCATE:       "ftruncate",
	syscall.SYS_FALLOCATE:       "fallocate",
	syscall.SYS_FSYNC:           "fsync",
	syscall.SYS_FDATASYNC:       "fdatasync",
	syscall.SYS_SYNC_FILE_RANGE: "sync_file_range",
	267:                         "syncfs",
	syscall.SYS_SYNC:            "sync",
	syscall.SYS_RENAMEAT:        "renameat",
	276:                         "renameat2",
	syscall.SYS_LINKAT:          "linkat",
	syscall.SYS_SYMLINKAT:       "symlinkat",
	syscall.SYS_UNLINKAT:        "unlinkat",
	syscall.SYS_MMAP:            "mmap",
	425:                         "io_uring_setup",
}
