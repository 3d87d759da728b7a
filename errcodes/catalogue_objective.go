package errcodes

var objectiveRows = []Entry{
	{
		Code:    ObjectiveNotFound,
		Title:   "Objective not found",
		Message: "Objective '{id}' not found",
		Hint:    "Check the id[ (nearest: {nearest})] or create the objective",
		Retry:   AfterFix,
		Details: []Field{
			{Name: "objectiveId", Type: "string", Doc: "the id that was asked for", In: "id"},
			nearestField,
		},
		Next:    []string{"leslie objective list"},
		Example: "leslie objective status obj-nobody",
	},
	{
		Code:    ObjectiveUnfinished,
		Title:   "Threads of the objective are unfinished",
		Message: "Not all threads of objective '{id}' are terminated ({count} open)",
		Hint:    "Finish or cancel them",
		Retry:   AfterFix,
		Details: []Field{
			objectiveField,
			{Name: "count", Type: "integer", Doc: "how many threads are open"},
			{Name: "threadIds", Type: "string[]", Doc: "the first of them"},
		},
		Next:    []string{"leslie list --objective {objectiveId}"},
		Example: "leslie objective complete obj-a",
	},
	{
		Code:    ObjectiveCompleted,
		Title:   "Objective is completed",
		Message: "Objective '{id}' is completed",
		Hint:    "Create another objective",
		Retry:   AfterFix,
		Details: []Field{objectiveField},
		Next:    []string{"leslie objective list"},
		Example: "leslie spawn --intent more --objective obj-done",
	},
	{
		Code:    ObjectiveExists,
		Title:   "Objective already exists",
		Message: "Objective '{id}' already exists",
		Hint:    "Choose another id",
		Retry:   AfterFix,
		Details: []Field{objectiveField},
		Next:    []string{"leslie objective status {objectiveId}"},
		Example: "leslie objective create --id obj-a --title again",
	},
}
