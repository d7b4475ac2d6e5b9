package child

import "syscall"

// endWithParent has the kernel end the child when this process is gone, however it
// ended: a server left behind would keep its memory for ever.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
