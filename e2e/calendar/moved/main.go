// Moved runs a command, and all that it starts, at another date:
//
//	moved <seconds> <program> [arguments…]
//	moved now
//
// At each exec of a process, moved replaces the clock functions of the process's vDSO by ones that ask the kernel and
// add the seconds to wall-clock times. So programs of Go, Node and C see the same date, whether they use libc or not.
// Monotonic time, timers and the dates of files stay the kernel's. Moved ends when the command ends, with the status of
// the command. Processes that the command leaves behind run on at the other date, but programs that they start
// afterwards have today's date. `moved now` prints the date that moved itself sees.
package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const options = unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK

func main() {
	if len(os.Args) == 2 && os.Args[1] == "now" {
		fmt.Println(time.Now().Unix())
		return
	}
	if len(os.Args) < 3 {
		fail(errors.New("usage: moved <seconds> <program> [arguments…]"))
	}
	seconds, err := strconv.ParseInt(os.Args[1], 10, 32)
	if err != nil {
		fail(err)
	}
	// All calls of ptrace must come from one and the same thread.
	runtime.LockOSThread()
	command := exec.Command(os.Args[2], os.Args[3:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.SysProcAttr = &unix.SysProcAttr{Ptrace: true}
	if err := command.Start(); err != nil {
		fail(err)
	}
	root := command.Process.Pid
	passOn(root)
	os.Exit(trace(root, int32(seconds)))
}

// passOn hands signals of a terminal or a caller to the command.
func passOn(root int) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	go func() {
		for s := range signals {
			unix.Kill(root, s.(unix.Signal))
		}
	}()
}

// trace goes on until the root process has ended, and returns its exit status.
func trace(root int, seconds int32) int {
	known := map[int]bool{}
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			fail(err)
		}
		if status.Exited() || status.Signaled() {
			delete(known, pid)
			if pid != root {
				continue
			}
			if status.Signaled() {
				return 128 + int(status.Signal())
			}
			return status.ExitStatus()
		}
		if !status.Stopped() {
			continue
		}
		deliver := 0
		switch stop := status.StopSignal(); {
		case pid == root && !known[root]:
			// The stop at the first exec: the options are not set yet.
			if err := unix.PtraceSetOptions(root, options); err != nil {
				fail(err)
			}
			move(root, seconds)
		case stop == unix.SIGTRAP && status.TrapCause() == unix.PTRACE_EVENT_EXEC:
			move(pid, seconds)
		case stop == unix.SIGTRAP && status.TrapCause() > 0:
			// There is a new child or thread. It will stop by itself when it begins: see the next case.
		case stop == unix.SIGSTOP && !known[pid]:
			// A new child or thread begins.
		default:
			deliver = int(stop)
		}
		known[pid] = true
		// If the process was killed in the meantime, the next wait reports it.
		if err := unix.PtraceCont(pid, deliver); err != nil && err != unix.ESRCH {
			fail(err)
		}
	}
}

// move replaces the clock functions of one process, whose program has just been loaded: nothing has asked for the time
// yet.
func move(pid int, seconds int32) {
	if err := tryMove(pid, seconds); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
		fail(fmt.Errorf("process %d: %w", pid, err))
	}
}

func tryMove(pid int, seconds int32) error {
	base, err := addressOf(pid)
	if err != nil {
		return err
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	// The image is of one or two pages.
	image := make([]byte, 8192)
	n, err := memory.ReadAt(image, int64(base))
	if n < 4096 {
		return fmt.Errorf("read the vDSO: %w", err)
	}
	file, err := elf.NewFile(bytes.NewReader(image[:n]))
	if err != nil {
		return err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return err
	}
	moved := 0
	for _, symbol := range symbols {
		text, ok := replacements[symbol.Name]
		if !ok {
			continue
		}
		code := append([]byte{}, text.code...)
		binary.LittleEndian.PutUint32(code[text.at:], uint32(seconds))
		if uint64(len(code)) > symbol.Size {
			return fmt.Errorf("%s of the vDSO has %d bytes, %d are needed", symbol.Name, symbol.Size, len(code))
		}
		if _, err := memory.WriteAt(code, int64(base+symbol.Value)); err != nil {
			return err
		}
		moved++
	}
	if moved != len(replacements) {
		return fmt.Errorf("the vDSO has %d of %d functions", moved, len(replacements))
	}
	return nil
}

// addressOf reads where the kernel has put the vDSO, from the auxiliary vector that it gave the program.
func addressOf(pid int) (uint64, error) {
	const sysinfoEhdr = 33
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return 0, err
	}
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.LittleEndian.Uint64(auxv) == sysinfoEhdr {
			return binary.LittleEndian.Uint64(auxv[8:]), nil
		}
	}
	return 0, errors.New("it has no vDSO")
}

// The code that replaces a clock function on x86-64, and the index in it at which the seconds are written.
type replacement struct {
	code []byte
	at   int
}

var replacements = map[string]replacement{
	// Asks by system call 228; adds to CLOCK_REALTIME (0) and CLOCK_REALTIME_COARSE (5), to no other.
	"__vdso_clock_gettime": {[]byte{
		0xb8, 228, 0, 0, 0, 0x0f, 0x05, // mov eax, 228; syscall
		0x85, 0xff, 0x74, 5, // test edi, edi; je add
		0x83, 0xff, 5, 0x75, 7, // cmp edi, 5; jne end
		0x48, 0x81, 0x06, 0, 0, 0, 0, // add: add qword [rsi], seconds
		0xc3, // end: ret
	}, 19},
	// System call 96. With a null pointer, the caller asks only for the time zone.
	"__vdso_gettimeofday": {[]byte{
		0xb8, 96, 0, 0, 0, 0x0f, 0x05,
		0x48, 0x85, 0xff, 0x74, 7, // test rdi, rdi; je end
		0x48, 0x81, 0x07, 0, 0, 0, 0, // add qword [rdi], seconds
		0xc3,
	}, 15},
	// System call 201 without its pointer, which is written afterwards.
	"__vdso_time": {[]byte{
		0x57, 0x31, 0xff, // push rdi; xor edi, edi
		0xb8, 201, 0, 0, 0, 0x0f, 0x05,
		0x5f, 0x48, 0x05, 0, 0, 0, 0, // pop rdi; add rax, seconds
		0x48, 0x85, 0xff, 0x74, 3, // test rdi, rdi; je end
		0x48, 0x89, 0x07, // mov [rdi], rax
		0xc3,
	}, 13},
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "moved:", err)
	os.Exit(125)
}
