// Package process reads from /proc what a server and its children use.
package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// clockTick is the unit of the times in /proc/<pid>/stat: USER_HZ, 100 a second on every Linux port in use.
const clockTick = 10 * time.Millisecond

// Usage of a process and its living children together.
type Usage struct {
	CPU       time.Duration // user and system time, that of ended children included once they were waited for
	RSSBytes  int64
	OpenFiles int64
}

type stat struct {
	parent   int
	ticks    int64
	rssPages int64
}

// Read looks at the process and everything that descends from it. It fails when the process does not exist or its
// open files may not be seen.
func Read(pid int) (Usage, error) {
	processes, err := all()
	if err != nil {
		return Usage{}, err
	}
	if _, found := processes[pid]; !found {
		return Usage{}, fmt.Errorf("no process %d", pid)
	}
	var usage Usage
	for id := range processes {
		if !descends(processes, id, pid) {
			continue
		}
		usage.CPU += time.Duration(processes[id].ticks) * clockTick
		usage.RSSBytes += processes[id].rssPages * int64(os.Getpagesize())
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", id))
		if err != nil {
			if id != pid {
				continue // a child that has just ended
			}
			return Usage{}, err
		}
		usage.OpenFiles += int64(len(files))
	}
	return usage, nil
}

func all() (map[int]stat, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	processes := make(map[int]stat, len(files))
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // ended since it was listed
		}
		pid, read, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		processes[pid] = read
	}
	return processes, nil
}

// parse reads a line of proc_pid_stat(5). The name in it may hold blanks and brackets: the last bracket ends it.
func parse(line []byte) (int, stat, error) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < 0 {
		return 0, stat{}, fmt.Errorf("no name in %q", line)
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(line[:open])))
	if err != nil {
		return 0, stat{}, err
	}
	fields := bytes.Fields(line[end+1:])
	number := func(field int) int64 { // numbered as in the manual, where the state is 3
		if field-3 >= len(fields) {
			err = fmt.Errorf("no field %d in %q", field, line)
			return 0
		}
		value, failure := strconv.ParseInt(string(fields[field-3]), 10, 64)
		if failure != nil {
			err = failure
		}
		return value
	}
	read := stat{
		parent:   int(number(4)),
		ticks:    number(14) + number(15) + number(16) + number(17),
		rssPages: number(24),
	}
	return pid, read, err
}

func descends(processes map[int]stat, id, ancestor int) bool {
	for id > 1 {
		if id == ancestor {
			return true
		}
		id = processes[id].parent
	}
	return false
}
