package kafkatest

import "syscall"

// dieWithParent has the kernel end the child when this process is gone, however
// it ended: a broker left behind would keep its memory for ever.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
