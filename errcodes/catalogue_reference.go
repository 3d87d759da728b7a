package errcodes

var referenceRows = []Entry{
	{
		Code:    CircularReference,
		Title:   "Circular reference",
		Message: "Circular reference detected: {path}",
		Hint:    "Remove one of the references in the cycle",
		Retry:   AfterFix,
		Details: []Field{
			{Name: "path", Type: "string[]", Doc: "the threads of the cycle, the referring one first and last", Join: " -> "},
			{Name: "references", Type: "string[]", Doc: "the references that would close the cycle with the new one"},
		},
		Next:    []string{"leslie reference remove {references}"},
		Example: "leslie reference --from thread-b --target thread-a",
	},
	{
		Code:    TargetCorrupted,
		Title:   "Reference target is corrupted",
		Message: "Reference target '{id}' is corrupted",
		Hint:    "Target thread may have been deleted",
		Retry:   AfterFix,
		Details: []Field{
			{Name: "target", Type: "string", Doc: "the thread that is referred to", In: "id"},
			{Name: "refId", Type: "string", Doc: "the reference"},
			reasonField,
		},
		Next:    []string{"leslie doctor --repair"},
		Example: "leslie reference resolve ref-old notes.md",
	},
	{
		Code:    ReferenceNotFound,
		Title:   "Reference not found",
		Message: "Reference '{id}' not found",
		Hint:    "Check the id[ (nearest: {nearest})] in the list of references",
		Retry:   AfterFix,
		Details: []Field{
			{Name: "refId", Type: "string", Doc: "the id that was asked for", In: "id"},
			nearestField,
		},
		Next:    []string{"leslie reference list"},
		Example: "leslie reference remove ref-nobody",
	},
	{
		Code:    OutsideScope,
		Title:   "Path is outside the scope",
		Message: "'{path}' is not in the scope of reference '{id}'",
		Hint:    "Ask for a path in its scope[ ({scope})], or make a reference with a wider one",
		Retry:   AfterFix,
		Details: []Field{
			{Name: "refId", Type: "string", Doc: "the reference", In: "id"},
			{Name: "path", Type: "string", Doc: "the path that was asked for"},
			{Name: "scope", Type: "string[]", Doc: "the paths that the reference covers"},
		},
		Next:    []string{"leslie reference list"},
		Example: "leslie reference resolve ref-a other/notes.md",
	},
}
