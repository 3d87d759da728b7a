// Command leslie gives every piece of parallel work a thread.
package main

import (
	"os"

	"github.com/leslie-sh/leslie/pkg/command"
)

func main() {
	os.Exit(command.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
