package storage

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
)

// The checksum of a line shows whether the line is right, not whether another
// is missing beside it or two have changed places, and a search goes by the
// order of the lines. So the state file ends with a checksum of each block of
// it. A search that does not find its key has the block checked in which the
// key would stand, and whoever goes through lines those that hold them.

// sumBlock is the length of a block, counted from the first record on.
const sumBlock = 64 << 10

// The records end with the checksums of their blocks, eight digits each.
const (
	sumsBegin = `},"sums":"`
	sumsEnd   = `"}` + "\n"
	sumDigits = 8
)

// summing passes on what is written and sums up its blocks.
type summing struct {
	out    io.Writer
	sum    uint32
	filled int // of the block
	sums   []byte
}

func (s *summing) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		part := rest[:min(len(rest), sumBlock-s.filled)]
		s.sum = crc32.Update(s.sum, crc32.IEEETable, part)
		if s.filled += len(part); s.filled == sumBlock {
			s.close()
		}
		rest = rest[len(part):]
	}
	return s.out.Write(data)
}

func (s *summing) close() {
	if s.filled > 0 {
		s.sums = fmt.Appendf(s.sums, "%08x", s.sum)
	}
	s.sum, s.filled = 0, 0
}

// footer ends the blocks and returns what follows the records.
func (s *summing) footer() string {
	s.close()
	return sumsBegin + string(s.sums) + sumsEnd
}

// sumsOf returns the checksums at the end of a state file of so many bytes, and where
// its records end.
func sumsOf(file *os.File, start, bytes int64) (sums []byte, end int64, err error) {
	room := bytes - start - int64(len(sumsBegin)+len(sumsEnd))
	count := (room + sumBlock + sumDigits - 1) / (sumBlock + sumDigits)
	end = start + room - count*sumDigits
	if room < 0 || end < start || (end-start+sumBlock-1)/sumBlock != count {
		return nil, 0, fmt.Errorf("its size is %w", errMisfit)
	}
	text := make([]byte, bytes-end)
	_, err = file.ReadAt(text, end)
	sums = text[len(sumsBegin) : len(text)-len(sumsEnd)]
	if err != nil || string(text) != sumsBegin+string(sums)+sumsEnd {
		return nil, 0, fmt.Errorf("its end is %w", errMisfit)
	}
	return sums, end, nil
}

// verify checks the blocks that hold the bytes between two places against
// their checksums, each once.
func (t *table) verify(from, to int64) error {
	for number := (from - t.start) / sumBlock; t.start+number*sumBlock < min(to, t.end); number++ {
		if t.verified[number] {
			continue
		}
		begin := t.start + number*sumBlock
		data := make([]byte, min(sumBlock, t.end-begin))
		if _, err := t.file.ReadAt(data, begin); err != nil {
			return fmt.Errorf("%w: %w", errMisfit, err)
		}
		want, err := strconv.ParseUint(string(t.sums[number*sumDigits:(number+1)*sumDigits]), 16, 32)
		if err != nil || crc32.ChecksumIEEE(data) != uint32(want) {
			return fmt.Errorf("the block at byte %d is %w", begin, errMisfit)
		}
		t.verified[number] = true
	}
	return nil
}
