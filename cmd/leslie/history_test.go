package main

import (
	"bufio"
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A store with a long history is not made by a million processes. A few
// threads are made by real commands, and the lines that these left in the log
// are multiplied: written again under other ids and numbers, one line an
// operation. Whenever the log is as long as it may get, a real command comes
// between, which takes all of it into the state and begins the next file. That
// the result is what real commands would have left, doctor says: it compares
// records, log and state.

// The threads whose operations are multiplied: the first refers to the second.
const (
	patternThread = "thread-aaaaaaaaaaaaa"
	patternTarget = "thread-bbbbbbbbbbbbb"
)

// The places of a line that differ from one operation to the next. Each is
// one byte, which no JSON text holds.
const (
	threadPlace = iota
	targetPlace
	operationPlace
	referencePlace
	seqPlace
	revisionPlace
	places
)

type values [places]string

// templateOf makes a line of the log, without its checksum, fit for any thread.
func templateOf(line, reference string) string {
	line = line[:strings.LastIndex(line, `,"crc":`)]
	seq, _, _ := strings.Cut(strings.TrimPrefix(line, `{"seq":`), ",")
	_, id, _ := strings.Cut(line, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	mark := func(text string, place int) { line = strings.ReplaceAll(line, text, string(rune(place))) }
	mark(patternThread, threadPlace)
	mark(patternTarget, targetPlace)
	mark(id, operationPlace)
	mark(reference, referencePlace)
	for _, end := range []string{",", "}"} {
		line = strings.ReplaceAll(line, `"seq":`+seq+end, `"seq":`+string(rune(seqPlace))+end)
	}
	for _, revision := range []string{"1", "2", "3"} {
		mark(`"revision":`+revision+",", revisionPlace)
	}
	return strings.ReplaceAll(line, string(rune(revisionPlace)), `"revision":`+string(rune(revisionPlace))+",")
}

// history appends to the log of a store.
type history struct {
	store
	seq       int
	out       *bufio.Writer
	file      *os.File
	line      []byte
	templates []string // spawn, reference, and then in turn suspend and resume
	threads   []string
}

// grow gives the store so many threads, with so many operations each. After
// it the store is as it would be in the middle of its work: the state file is
// older than the log, by half of what it may be.
func (s store) grow(threads, operations int) {
	s.Helper()
	h := &history{store: s, templates: s.templates()}
	for n := range threads - few {
		h.threads = append(h.threads, "thread-"+name(n))
		s.must(os.MkdirAll(filepath.Join(s.dir, ".leslie", "threads", h.threads[n], "artifacts"), 0o755))
	}
	all, step := operations*len(h.threads), min(max(256<<10, threads*recordBytes/20), 512<<10)/lineBytes
	last := all - step/2
	h.open()
	for n := range all {
		if h.operation(n/len(h.threads), n%len(h.threads)); n <= last && (last-n)%step == 0 {
			h.close()
			s.leslie("inject", "--target", "needle", "--type", "info", "--content", "so far "+strconv.Itoa(n))
			h.open()
		}
	}
	h.close()
}

// How long a line of the log is at least, and all records of one thread at
// most: the state may be behind by 256 KB, or a twentieth of itself, up to 512 KB.
const (
	lineBytes   = 500
	recordBytes = 1000
)

// templates reads the lines of the operations that are multiplied.
func (s store) templates() (list []string) {
	data, err := os.ReadFile(filepath.Join(s.dir, ".leslie", "ops", "1.jsonl"))
	s.must(err)
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	_, reference, _ := strings.Cut(lines[len(lines)-3], `"put":{"refFrom/`+patternThread+"/")
	reference, _, _ = strings.Cut(reference, `"`)
	for _, line := range lines[len(lines)-4:] {
		list = append(list, templateOf(line, reference))
	}
	return list
}

func (h *history) open() {
	h.seq = int(h.leslie("log", "--limit", "1").Get("operations.0.seq").Int())
	files, err := filepath.Glob(filepath.Join(h.dir, ".leslie", "ops", "*.jsonl"))
	h.must(err)
	latest := filepath.Join(h.dir, ".leslie", "ops", strconv.Itoa(len(files))+".jsonl")
	h.file, err = os.OpenFile(latest, os.O_WRONLY|os.O_APPEND, 0)
	h.must(err)
	h.out = bufio.NewWriter(h.file)
}

func (h *history) close() {
	h.must(h.out.Flush())
	h.must(h.file.Close())
}

// operation appends the round-th operation of a thread.
func (h *history) operation(round, thread int) {
	h.seq++
	template, revision := h.templates[min(round, 2+round%2)], max(1, round)
	target := "link-0"
	if thread%10 != 9 && thread+1 < len(h.threads) {
		target = h.threads[thread+1]
	}
	is := values{h.threads[thread], target, "op-" + name(h.seq), "ref-" + name(thread), strconv.Itoa(h.seq), strconv.Itoa(revision)}
	h.line = h.line[:0]
	for i := range len(template) {
		if c := template[i]; c < places {
			h.line = append(h.line, is[c]...)
		} else {
			h.line = append(h.line, c)
		}
	}
	h.line = fmt.Appendf(h.line, `,"crc":"%08x"}`+"\n", crc32.ChecksumIEEE(h.line))
	_, err := h.out.Write(h.line)
	h.must(err)
}

// name makes the random part of an id from a number, the same each time and
// different for each.
func name(n int) string {
	bits := uint64(n+1) * 0x9e3779b97f4a7c15
	return string(bytes.Map(func(rune) rune {
		letter := rune("abcdefghijklmnopqrstuvwxyz234567"[bits&31])
		bits >>= 5
		return letter
	}, make([]byte, 13)))
}
