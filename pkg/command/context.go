package command

import (
	"fmt"
	"strings"

	"github.com/leslie-sh/leslie/errcodes"
	"github.com/leslie-sh/leslie/refs"
	"github.com/leslie-sh/leslie/storage"
	"github.com/leslie-sh/leslie/threads"
)

var contextCommand = &command{
	name:    "context",
	summary: "the brief to put before a prompt",
	args:    []argSpec{threadArg},
	text:    "context",
	data:    contextData{},
	run:     runContext,
}

type contextData struct {
	ThreadID string `json:"threadId"`
	Context  string `json:"context"`
}

// mostFiles is how many files of one thread a brief names.
const mostFiles = 100

func runContext(c *call) (any, error) {
	id, err := c.subject(0)
	if err != nil {
		return nil, err
	}
	return view(c, func(v *storage.View) (contextData, error) {
		t, err := threads.Find(v, id)
		if err != nil {
			return contextData{}, err
		}
		c.concern(t)
		b := &brief{call: c, view: v, thread: t}
		for _, part := range []func() error{b.head, b.injections, b.artifacts, b.references, b.ending} {
			if err := part(); err != nil {
				return contextData{}, err
			}
		}
		return contextData{id, b.text.String()}, nil
	})
}

// brief writes the thread_context block, part by part.
type brief struct {
	*call
	view   *storage.View
	thread threads.Thread
	text   strings.Builder
}

func (b *brief) line(format string, values ...any) {
	for i, value := range values {
		values[i] = escapeXML(fmt.Sprint(value))
	}
	fmt.Fprintf(&b.text, format+"\n", values...)
}

func (b *brief) head() error {
	t := b.thread
	b.line(`<thread_context thread="%s" objective="%s" status="%s">`, t.ID, t.ObjectiveID, t.Status)
	b.line("  <title>%s</title>", t.Title)
	b.line("  <intent>%s</intent>", t.Intent)
	if t.ParentID != "" {
		b.line(`  <parent thread="%s"/>`, t.ParentID)
	}
	return nil
}

func (b *brief) injections() error {
	injections, err := threads.Injections(b.view, b.thread.ID)
	if err != nil || len(injections) == 0 {
		return err
	}
	b.line("  <injections>")
	for _, kind := range []string{"constraint", "correction", "info"} {
		for _, i := range injections {
			if i.Type == kind {
				b.line(`    <%s id="%s" by="%s">%s</%s>`, kind, i.ID, i.By, i.Content, kind)
			}
		}
	}
	b.line("  </injections>")
	return nil
}

func (b *brief) artifacts() error {
	found, warnings, err := threads.Artifacts(b.view, b.thread.ID)
	b.view.Warn(warnings...)
	if err != nil {
		return err
	}
	dir := threads.ArtifactsDir(b.thread.ID)
	b.line(`  <artifacts dir="%s">`, b.path(dir))
	for i, a := range found {
		if i == mostFiles {
			b.line(`    <more count="%s" command="%s"/>`, len(found)-i, b.commandLine("artifact", "list", b.thread.ID))
			break
		}
		b.line(`    <artifact path="%s" file="%s" bytes="%s"/>`, a.Path, b.path(dir, a.Path), a.Bytes)
	}
	b.line("  </artifacts>")
	return nil
}

// references shows the direct ones, one level deep. One that leads nowhere
// is left out and told as W202.
func (b *brief) references() error {
	direct, err := refs.From(b.view, b.thread.ID)
	if err != nil || len(direct) == 0 {
		return err
	}
	b.line("  <references>")
	for _, ref := range direct {
		files, err := refs.Files(b.view, ref)
		if err != nil {
			b.view.Warn(errcodes.TargetUnresolved.Warn("target", ref.Target, "reason", reasonOf(err), "refId", ref.ID))
			continue
		}
		b.reference(ref, files)
	}
	b.line("  </references>")
	return nil
}

// reasonOf returns why an error happened, where it says so beside its
// sentence, else the sentence.
func reasonOf(err error) string {
	if reason, ok := errcodes.Of(err).Detail("reason").(string); ok {
		return reason
	}
	return err.Error()
}

func (b *brief) reference(ref refs.Reference, files []refs.File) {
	b.line(`    <reference id="%s" thread="%s" binding="%s">`, ref.ID, ref.Target, ref.Binding)
	for i, f := range files {
		if i == mostFiles {
			b.line(`      <more count="%s"/>`, len(files)-i)
			break
		}
		b.line(`      <artifact path="%s" file="%s" bytes="%s"/>`, f.Path, b.path(f.File), f.Bytes)
	}
	b.line("    </reference>")
}

func (b *brief) ending() error {
	id := b.thread.ID
	b.line("  <return>%s</return>", b.commandLine("done", id))
	b.line("  <fail>%s</fail>", b.commandLine("fail", id)+" --reason TEXT")
	b.line("</thread_context>")
	return nil
}

// escapeXML makes text fit for content and attributes. Characters that XML
// cannot hold, and those that could hide what a reader sees, become U+FFFD.
func escapeXML(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '&':
			out.WriteString("&amp;")
		case r == '<':
			out.WriteString("&lt;")
		case r == '>':
			out.WriteString("&gt;")
		case r == '"':
			out.WriteString("&quot;")
		case r == '\'':
			out.WriteString("&apos;")
		case r == '\n' || r == '\t':
			out.WriteRune(r)
		case r < ' ' || r >= 0x7f && r < 0xa0 || isBidi(r) || r == 0xfffe || r == 0xffff:
			out.WriteRune('\uFFFD')
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
