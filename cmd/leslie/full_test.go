package main

import "flag"

var full = flag.Bool("full", false, "run the sweeps in full")
