//go:build linux && (amd64 || arm64)

package crash

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"syscall"
)

// The filter is a program for the kernel's small machine (BPF), which looks at
// the number of a call and at the lower half of one argument:
//
//	of another architecture     stop
//	opens nothing to change it  go on
//	maps private memory         go on
//	any other in callNames      stop
//	the rest                    go on

// Where struct seccomp_data has what.
const (
	dataNumber       = 0
	dataArchitecture = 4
	dataArguments    = 16 // of 8 bytes each, the lower half first
)

const (
	load      = syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS
	ifEqual   = syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K
	ifAnySet  = syscall.BPF_JMP | syscall.BPF_JSET | syscall.BPF_K
	end       = syscall.BPF_RET | syscall.BPF_K
	stopThere = 0x7ff00000 // SECCOMP_RET_TRACE
	goOn      = 0x7fff0000 // SECCOMP_RET_ALLOW
)

// filter returns the program. Each test falls through or skips one or two instructions.
func filter() []syscall.SockFilter {
	program := []syscall.SockFilter{
		{Code: load, K: dataArchitecture},
		{Code: ifEqual, K: architecture, Jt: 1},
		{Code: end, K: stopThere},
		{Code: load, K: dataNumber},
	}
	for number, name := range callNames {
		f := forms[name]
		if mask := f.mask(); mask == 0 {
			program = append(program,
				syscall.SockFilter{Code: ifEqual, K: uint32(number), Jf: 1},
				syscall.SockFilter{Code: end, K: stopThere})
		} else {
			program = append(program,
				syscall.SockFilter{Code: ifEqual, K: uint32(number), Jf: 4},
				syscall.SockFilter{Code: load, K: uint32(dataArguments + 8*(f.flags-1))},
				syscall.SockFilter{Code: ifAnySet, K: mask, Jf: 1},
				syscall.SockFilter{Code: end, K: stopThere},
				syscall.SockFilter{Code: end, K: goOn})
		}
	}
	return append(program, syscall.SockFilter{Code: end, K: goOn})
}

// mask are the flags of which a call needs one to be of interest; 0 where all are.
func (f form) mask() uint32 {
	switch {
	case f.flags == 0:
		return 0
	case f.kind == Create:
		return syscall.O_CREAT | syscall.O_TRUNC | temporary
	case f.kind == unseenMap:
		return syscall.MAP_SHARED
	}
	return 0
}

// installFilter makes a process that has not begun to run install the filter:
// it puts the filter beneath the stack and a system call in the place of the
// first instruction, has that run, and puts all back.
func installFilter(p process) error {
	const (
		noNewPrivileges = 38 // PR_SET_NO_NEW_PRIVS, without which only root may install one
		setSeccomp      = 22 // PR_SET_SECCOMP
		filterMode      = 2  // SECCOMP_MODE_FILTER
		room            = 8192
	)
	before, err := readRegisters(int(p))
	if err != nil {
		return err
	}
	memory, err := os.OpenFile(p.proc("mem"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	first, pc, place := make([]byte, len(trap)), int64(before.pc()), (before.sp()-room)&^15
	if _, err := memory.ReadAt(first, pc); err != nil {
		return err
	}
	if _, err := memory.WriteAt(filterImage(place), int64(place)); err != nil {
		return err
	}
	if _, err := memory.WriteAt(trap, pc); err != nil {
		return err
	}
	if err := p.call(before, syscall.SYS_PRCTL, noNewPrivileges, 1); err != nil {
		return err
	}
	if err := p.call(before, syscall.SYS_PRCTL, setSeccomp, filterMode, place); err != nil {
		return err
	}
	if _, err := memory.WriteAt(first, pc); err != nil {
		return err
	}
	return before.write(int(p))
}

// filterImage is a struct sock_fprog for the address place, and the filter behind it.
func filterImage(place uint64) []byte {
	const head = 16
	program := filter()
	var image bytes.Buffer
	for _, part := range []any{uint16(len(program)), [6]byte{}, place + head, program} {
		_ = binary.Write(&image, binary.NativeEndian, part) // to a buffer, of fixed sizes
	}
	return image.Bytes()
}

// call has the process make a system call, by the instruction at its pc.
func (p process) call(r registers, number uint64, args ...uint64) error {
	r.inject(number)
	for i := 1; i <= len(arguments{}); i++ {
		*r.argument(i) = 0
	}
	for i, value := range args {
		*r.argument(i + 1) = value
	}
	if err := r.write(int(p)); err != nil {
		return err
	}
	for range 2 { // to the stop before the call, and to that after it
		if err := syscall.PtraceSyscall(int(p), 0); err != nil {
			return err
		}
		if _, status, err := wait(int(p)); err != nil {
			return err
		} else if status.StopSignal() != afterCall {
			return fmt.Errorf("a process makes no call when told: status %#x", int(status))
		}
	}
	info, known := stoppedCall(int(p))
	if result := int64(info.number); !known || result != 0 {
		return fmt.Errorf("a process installs no filter: %w", syscall.Errno(-result))
	}
	return nil
}
