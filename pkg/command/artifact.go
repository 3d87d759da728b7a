package command

import (
	"encoding/base64"
	"unicode/utf8"

	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/threads"
)

var artifactCommand = &command{name: "artifact", summary: "the files that a thread works on", group: true}

var pathArg = argSpec{name: "PATH"}

var artifactListCommand = &command{
	name:    "artifact list",
	summary: "show the artifacts of a thread",
	args:    []argSpec{threadArg},
	flags:   []flagSpec{limitFlag},
	data:    artifactsData{},
	run:     runArtifactList,
}

var artifactPutCommand = &command{
	name:    "artifact put",
	waits:   true,
	summary: "write an artifact, from stdin or a file",
	args:    []argSpec{threadArg, pathArg},
	flags:   []flagSpec{{name: "file", value: "F", summary: "the file to take it from, else stdin"}},
	writes:  true,
	data:    artifactWritten{},
	run:     runArtifactPut,
}

var artifactGetCommand = &command{
	name:      "artifact get",
	waits:     true,
	summary:   "read an artifact",
	args:      []argSpec{threadArg, pathArg},
	flags:     []flagSpec{{name: "out", value: "F", summary: "the file, device or pipe to write it to; a file whole or not at all"}},
	unbounded: true,
	data:      artifactData{},
	run:       runArtifactGet,
}

var artifactRemoveCommand = &command{
	name:    "artifact remove",
	summary: "take an artifact away",
	args:    []argSpec{threadArg, pathArg},
	writes:  true,
	data:    artifactWritten{},
	run:     runArtifactRemove,
}

type artifactsData struct {
	ThreadID  string             `json:"threadId"`
	Artifacts []threads.Artifact `json:"artifacts"`
	Count     int                `json:"count"`
	Total     int                `json:"total"`
	Next      string             `json:"next,omitempty"`
}

type artifactShape struct {
	ThreadID string `json:"threadId"`
	Path     string `json:"path"`
	Bytes    int64  `json:"bytes"`
	SHA256   string `json:"sha256"`
}

type artifactWritten struct {
	artifactShape
	written
}

type artifactData struct {
	artifactShape
	Content  *string `json:"content,omitempty"`
	Encoding string  `json:"encoding,omitempty"`
	Out      string  `json:"out,omitempty"`
}

// changedArtifact is an artifact and the thread that it belongs to.
type changedArtifact struct {
	artifact threads.Artifact
	thread   threads.Thread
}

// artifactOf returns thread and path; --thread serves where only the path is given.
func (c *call) artifactOf() (id, path string, err error) {
	if len(c.args) == 1 && c.thread != "" {
		c.threadID = c.thread
		return c.thread, c.arg(0), threads.CheckPath(c.arg(0))
	}
	if len(c.args) < 2 {
		return "", "", usageError(c.cmd.name+" needs the id of a thread and a path", "PATH").Having("usage", c.cmd.usage())
	}
	c.threadID = c.arg(0)
	return c.arg(0), c.arg(1), threads.CheckPath(c.arg(1))
}

func runArtifactList(c *call) (any, error) {
	id, err := c.subject(0)
	if err != nil {
		return nil, err
	}
	limit := c.number("limit", usualLimit)
	return view(c, func(v *storage.View) (artifactsData, error) {
		found, warnings, err := threads.Artifacts(v, id)
		v.Warn(warnings...)
		shown := append([]threads.Artifact{}, found[:min(limit, len(found))]...)
		return artifactsData{
			ThreadID: id, Artifacts: shown, Count: len(shown), Total: len(found), Next: c.wider(len(found) > limit, limit),
		}, err
	})
}

func runArtifactPut(c *call) (any, error) {
	id, path, err := c.artifactOf()
	if err != nil {
		return nil, err
	}
	if err := c.open(); err != nil {
		return nil, err
	}
	content, err := c.content(c.text("file"))
	if err != nil {
		return nil, err
	}
	return changeArtifact(c, func(tx *storage.Tx) (changedArtifact, error) {
		a, t, err := threads.PutArtifact(tx, id, path, content)
		return changedArtifact{a, t}, err
	})
}

func runArtifactRemove(c *call) (any, error) {
	id, path, err := c.artifactOf()
	if err != nil {
		return nil, err
	}
	return changeArtifact(c, func(tx *storage.Tx) (changedArtifact, error) {
		a, t, err := threads.RemoveArtifact(tx, id, path)
		return changedArtifact{a, t}, err
	})
}

func changeArtifact(c *call, change func(*storage.Tx) (changedArtifact, error)) (any, error) {
	done, durable, err := update(c, "", change)
	if err != nil {
		return nil, err
	}
	c.concern(done.thread)
	return artifactWritten{shapeOfArtifact(done.thread.ID, done.artifact), durable.at(done.thread.Revision)}, nil
}

func shapeOfArtifact(id string, a threads.Artifact) artifactShape {
	return artifactShape{ThreadID: id, Path: a.Path, Bytes: a.Bytes, SHA256: a.SHA256}
}

func runArtifactGet(c *call) (any, error) {
	id, path, err := c.artifactOf()
	if err == nil && c.given("out") {
		err = checkOut(c.text("out"))
	}
	if err != nil {
		return nil, err
	}
	var content []byte
	artifact, err := view(c, func(v *storage.View) (a threads.Artifact, err error) {
		a, content, err = threads.ReadArtifact(v, id, path)
		return a, err
	})
	if err != nil {
		return nil, err
	}
	data := artifactData{artifactShape: shapeOfArtifact(id, artifact)}
	if c.given("out") {
		if data.Out, err = c.writeOut(c.text("out"), content); err != nil {
			return nil, err
		}
		return data, nil
	}
	text := string(content)
	if !utf8.Valid(content) {
		text, data.Encoding = base64.StdEncoding.EncodeToString(content), "base64"
	}
	data.Content = &text
	return data, nil
}
