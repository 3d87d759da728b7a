package errcodes

var transferRows = []Entry{
	{
		Code:    ApprovalTimeout,
		Title:   "Approval timeout",
		Message: "Approval timeout after {duration}",
		Hint:    "Retry with longer timeout or use fallback",
		Retry:   Same,
		Details: []Field{
			{Name: "requestId", Type: "string", Doc: "the request for approval"},
			{Name: "duration", Type: "string", Doc: "how long it was waited for, such as 30s"},
			{Name: "state", Type: "string", Doc: "pending when the waiter's time is over, expired when the request's is"},
		},
		Next:    []string{"leslie transfer wait {requestId}"},
		Example: "leslie transfer wait req-a --timeout 1s",
	},
	{
		Code:    PermissionDenied,
		Title:   "Permission denied",
		Message: "Permission denied for {operation}",
		Hint:    "Request approval first",
		Retry:   AfterHuman,
		Details: []Field{
			{Name: "permission", Type: "string", Doc: "the operation that is not permitted", In: "operation"},
			{Name: "threadId", Type: "string", Doc: "the thread that asked"},
			{Name: "requestId", Type: "string", Doc: "the request that was denied"},
			{Name: "rule", Type: "string", Doc: "the rule of the policy that decided"},
			reasonField,
		},
		Next:    []string{"leslie transfer request --thread {threadId} --operation {permission}"},
		Example: "leslie allow deploy --thread thread-a",
	},
	{
		Code:    ApprovalNotFound,
		Title:   "Approval request not found",
		Message: "Approval request '{id}' not found",
		Hint:    "Check the id[ (nearest: {nearest})] in the list of requests",
		Retry:   AfterFix,
		Details: []Field{requestField, nearestField},
		Next:    []string{"leslie transfer list"},
		Example: "leslie approve req-nobody",
	},
	{
		Code:    ApprovalDecided,
		Title:   "Approval request already decided",
		Message: "Approval request '{id}' was already {state}",
		Hint:    "The first decision stands; ask again with a new request",
		Details: []Field{
			requestField,
			{Name: "state", Type: "string", Doc: "the decision that stands"},
			{Name: "decidedBy", Type: "string", Doc: "who decided"},
		},
		Next:    []string{"leslie transfer list"},
		Example: "leslie deny req-approved",
	},
}
