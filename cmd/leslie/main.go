// Command leslie gives every piece of parallel work a thread.
//
// Its process lives for milliseconds, so the runtime need not find out how
// many processors a container allows, nor whether that changes.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
package main

import (
	"os"

	"github.com/leslie-sh/leslie/pkg/command"
)

func main() {
	os.Exit(command.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
