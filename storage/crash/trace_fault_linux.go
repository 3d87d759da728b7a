//go:build linux && (amd64 || arm64)

package crash

import (
	"os"
	"sort"
	"syscall"
	"unsafe"
)

// pending is a call between its two stops.
type pending struct {
	index  int // in Run.Calls
	number uint64
	args   arguments
	form   form
	fault  Mode       // what befalls it; 0 for nothing
	saved  *registers // as the program set them, where they were changed
}

// callInfo is the kernel's struct ptrace_syscall_info.
type callInfo struct {
	op           uint8
	_            [3]uint8
	architecture uint32
	_, _         uint64 // instruction and stack pointer
	number       uint64 // before the call; after it, the result
	args         arguments
}

// stoppedCall asks at which call a thread stands. Where the thread was killed
// meanwhile the kernel knows nothing of it.
func stoppedCall(pid int) (info callInfo, known bool) {
	const request = 0x420e // PTRACE_GET_SYSCALL_INFO
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, request, uintptr(pid),
		unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	return info, errno == 0 && info.op != 0
}

// arrived handles the stop before a call. What threads do that are being
// killed does not happen.
func (t *tracer) arrived(pid int, one *thread) {
	info, known := stoppedCall(pid)
	switch {
	case !known || t.dying():
	case info.architecture != architecture:
		t.run.addUnseen("a process of another architecture")
	default:
		t.enter(process(pid), one, info)
	}
}

// left handles the stop after a call that changes something.
func (t *tracer) left(pid int, one *thread) {
	info, known := stoppedCall(pid)
	result := int64(info.number)
	switch {
	case !known || one.call == nil:
	case brokenOff(result) && one.call.fault != Fail:
		t.breakOff(pid, one, result)
	default:
		t.leave(pid, one.call, result)
	}
	one.call = nil
}

// brokenOff reports whether a result is one of those that programs never see:
// a signal came, and the kernel will make the call again (ERESTARTSYS and so on).
func brokenOff(result int64) bool { return result <= -512 && result >= -516 }

// breakOff keeps a call until it is made again, with what the program asked for.
func (t *tracer) breakOff(pid int, one *thread, result int64) {
	one.interrupted = one.call
	if one.call.saved != nil {
		_ = one.call.answer(pid, result) // fails only where the thread was killed
	}
}

// enter numbers a call that changes something, and begins what the fault does
// to it. A call made again after a signal keeps its number.
func (t *tracer) enter(p process, one *thread, info callInfo) {
	name := callNames[info.number]
	f, known := forms[name]
	if !known {
		return
	}
	if last := one.interrupted; last != nil && last.number == info.number && last.args == info.args {
		one.call = &pending{index: last.index, number: info.number, args: info.args, form: f}
	} else if call, changes := t.describe(p, name, f, info.args); changes {
		call.Ret = -int64(syscall.EINTR) // until it returns
		t.run.Calls = append(t.run.Calls, call)
		one.call = &pending{index: len(t.run.Calls) - 1, number: info.number, args: info.args, form: f}
	} else {
		return
	}
	one.interrupted = nil
	if t.fault.strikes(one.call.index + 1) {
		t.strike(p, one.call)
	}
}

func (t *tracer) strike(p process, one *pending) {
	r, err := readRegisters(int(p))
	if err != nil {
		return
	}
	one.fault = t.fault.Mode
	switch one.fault {
	case KillBefore:
		_ = r.renumber(int(p), noCall) // kernels make no call of a process that was killed, and this says so
		t.run.Hit = true
		t.kill(nil)
	case Fail:
		if r.renumber(int(p), noCall) != nil {
			one.fault = 0
		}
	case Torn, Short:
		if before := r; halve(p, &r, one) {
			one.saved = &before
		} else {
			one.fault = 0
		}
	}
}

// halve makes a write one of half its bytes, if it has two or more.
func halve(p process, r *registers, one *pending) bool {
	count := one.args.at(one.form.count)
	switch {
	case one.form.kind != Write:
		return false
	case one.form.pieces > 0:
		return halvePieces(p, r, one)
	}
	*r.argument(one.form.count) = count / 2
	return count > 1 && r.write(int(p)) == nil
}

// halvePieces leaves of a writev the pieces that fit in half of it. Where the
// first alone does not, the call becomes a plain write of that piece's beginning.
func halvePieces(p process, r *registers, one *pending) bool {
	var bases []uint64
	var ends []int
	total := 0
	for base, length := range p.pieces(one.form, one.args) {
		if length > 0 {
			total += length
			bases, ends = append(bases, base), append(ends, total)
		}
	}
	half := total / 2
	if half == 0 {
		return false
	}
	fitting := sort.SearchInts(ends, half+1)
	if fitting > 0 {
		*r.argument(one.form.count) = uint64(fitting)
		return r.write(int(p)) == nil
	}
	*r.argument(2), *r.argument(3) = bases[0], uint64(half)
	number := uint64(syscall.SYS_WRITE)
	if one.hasOffset() {
		number = syscall.SYS_PWRITE64
	}
	return r.renumber(int(p), number) == nil
}

// leave notes how a call ended, and ends what the fault does to it.
func (t *tracer) leave(pid int, one *pending, result int64) {
	call := &t.run.Calls[one.index]
	call.Made, call.Ret = result >= 0 && one.fault != Fail, result
	if call.Made && call.Kind == Write {
		t.noteWritten(process(pid), one, call)
	}
	if one.fault == 0 {
		return
	}
	t.run.Hit = true
	switch one.fault {
	case KillAfter, Torn:
		t.kill(nil)
		return
	case Fail, FailLate:
		call.Ret = -int64(t.fault.errno())
	}
	if err := one.answer(pid, call.Ret); err != nil {
		t.run.Hit = false
	}
}

// answer tells the program a result, with the rest of its registers as it had set them.
func (one *pending) answer(pid int, result int64) error {
	r, err := readRegisters(pid)
	if err != nil {
		return err
	}
	if one.saved != nil {
		r = *one.saved
	}
	*r.result() = uint64(result)
	return r.write(pid)
}

// noteWritten notes what a write did: the offset where it was the file's to
// choose, and the bytes it took.
func (t *tracer) noteWritten(p process, one *pending, call *Call) {
	if !one.hasOffset() && one.form.atRef == 0 {
		end, _ := p.position(int32(one.args.at(one.form.fd)))
		call.At = max(end-call.Ret, 0) // a pipe has no position
	}
	if one.form.data == 0 && one.form.pieces == 0 {
		call.Data = one.readBack(p, call.At, call.Ret)
	}
	call.Data = call.Data[:min(int64(len(call.Data)), call.Ret)]
}

func (one *pending) hasOffset() bool {
	return one.form.at > 0 && int64(one.args.at(one.form.at)) >= 0
}

// readBack reads what a write took from another file, so that it was never in memory.
func (one *pending) readBack(p process, at, n int64) []byte {
	file, err := os.Open(p.file(int32(one.args.at(one.form.fd))))
	if err != nil {
		return nil
	}
	defer file.Close()
	data := make([]byte, n)
	got, _ := file.ReadAt(data, at)
	return data[:got]
}
