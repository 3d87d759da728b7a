package errcodes

var systemRows = []Entry{
	{
		Code:    Internal,
		Title:   "Internal error",
		Message: "Internal error: {problem}",
		Hint:    "Please report it, with the log",
		Retry:   AfterHuman,
		Details: []Field{problemField},
		Next:    []string{"leslie logs"},
		Example: "leslie list",
	},
	{
		Code:    Unrecognized,
		Title:   "Unknown error",
		Message: "Unknown error: {problem}",
		Hint:    "An agent or plugin reported a code that leslie does not know",
		Retry:   AfterHuman,
		Details: []Field{
			problemField,
			{Name: "reported", Type: "string", Doc: "the code as it was reported"},
		},
		Next:    []string{"leslie codes"},
		Example: "leslie session fail --code X999 --message lost",
	},
	{
		Code:    Usage,
		Title:   "Invalid usage",
		Message: "Invalid usage: {problem}",
		Hint:    "Correct the command line[ (nearest: {nearest})][; allowed: {allowed}][; usage: {usage}]",
		Retry:   AfterFix,
		Details: []Field{
			problemField,
			{Name: "argument", Type: "string", Doc: "the flag or argument that is wrong"},
			{Name: "nearest", Type: "string", Doc: "the known word that was probably meant"},
			{Name: "allowed", Type: "string[]", Doc: "the values that are allowed"},
			{Name: "usage", Type: "string", Doc: "how the command is called"},
		},
		Next:    []string{"leslie {operation} --help"},
		Example: "leslie spwan --intent x",
	},
	{
		Code:    Interrupted,
		Title:   "Interrupted",
		Message: "Interrupted by {signal}",
		Hint:    "What had been acknowledged is kept",
		Retry:   Same,
		Details: []Field{
			{Name: "signal", Type: "string", Doc: "SIGINT (exit status 130) or SIGTERM (143)"},
		},
		Example: "timeout 1 leslie observe",
	},
}
