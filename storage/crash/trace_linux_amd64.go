package crash

import "syscall"

const (
	architecture = 0xC000003E // AUDIT_ARCH_X86_64
	noCall       = ^uint64(0) // as a call's number: make none
)

// registers are those of a stopped thread.
type registers syscall.PtraceRegs

func readRegisters(pid int) (r registers, err error) {
	return r, syscall.PtraceGetRegs(pid, (*syscall.PtraceRegs)(&r))
}

func (r *registers) write(pid int) error {
	return syscall.PtraceSetRegs(pid, (*syscall.PtraceRegs)(r))
}

// renumber makes the call about to be made another one.
func (r *registers) renumber(pid int, number uint64) error {
	r.Orig_rax = number
	return r.write(pid)
}

// argument is the i-th argument of a call, from 1.
func (r *registers) argument(i int) *uint64 {
	return [...]*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8, &r.R9}[i-1]
}

func (r *registers) result() *uint64 { return &r.Rax }

// trap is the instruction that makes a system call.
var trap = []byte{0x0f, 0x05}

// inject prepares a call of the tracer's own, made by the instruction at pc.
func (r *registers) inject(number uint64) { r.Orig_rax, r.Rax = noCall, number }

func (r *registers) pc() uint64 { return r.Rip }

func (r *registers) sp() uint64 { return r.Rsp }

var callNames = map[uint64]string{
	syscall.SYS_OPEN:            "open",
	syscall.SYS_CREAT:           "creat",
	syscall.SYS_OPENAT:          "openat",
	437:                         "openat2",
	syscall.SYS_MKNOD:           "mknod",
	syscall.SYS_MKNODAT:         "mknodat",
	syscall.SYS_MKDIR:           "mkdir",
	syscall.SYS_MKDIRAT:         "mkdirat",
	syscall.SYS_CHMOD:           "chmod",
	syscall.SYS_FCHMOD:          "fchmod",
	syscall.SYS_FCHMODAT:        "fchmodat",
	452:                         "fchmodat2",
	syscall.SYS_WRITE:           "write",
	syscall.SYS_PWRITE64:        "pwrite64",
	syscall.SYS_WRITEV:          "writev",
	syscall.SYS_PWRITEV:         "pwritev",
	328:                         "pwritev2",
	syscall.SYS_SENDFILE:        "sendfile",
	326:                         "copy_file_range",
	syscall.SYS_SPLICE:          "splice",
	syscall.SYS_TRUNCATE:        "truncate",
	syscall.SYS_FTRUNCATE:       "ftruncate",
	syscall.SYS_FALLOCATE:       "fallocate",
	syscall.SYS_FSYNC:           "fsync",
	syscall.SYS_FDATASYNC:       "fdatasync",
	syscall.SYS_SYNC_FILE_RANGE: "sync_file_range",
	306:                         "syncfs",
	syscall.SYS_SYNC:            "sync",
	syscall.SYS_RENAME:          "rename",
	syscall.SYS_RENAMEAT:        "renameat",
	316:                         "renameat2",
	syscall.SYS_LINK:            "link",
	syscall.SYS_LINKAT:          "linkat",
	syscall.SYS_SYMLINK:         "symlink",
	syscall.SYS_SYMLINKAT:       "symlinkat",
	syscall.SYS_UNLINK:          "unlink",
	syscall.SYS_UNLINKAT:        "unlinkat",
	syscall.SYS_RMDIR:           "rmdir",
	syscall.SYS_MMAP:            "mmap",
	425:                         "io_uring_setup",
}
