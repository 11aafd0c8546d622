package process

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestANameWithBlanksAndBracketsIsSkipped(t *testing.T) {
	line := []byte("42 (a (b) c) S 7 1 1 0 -1 4194304 9 9 9 9 100 20 3 4 20 0 5 0 99 1000000 250 18446744073709551615")
	pid, read, err := parse(line)
	if err != nil {
		t.Fatal(err)
	}
	if want := (stat{parent: 7, ticks: 127, rssPages: 250}); pid != 42 || read != want {
		t.Errorf("process %d: %+v, want 42: %+v", pid, read, want)
	}
}

func TestALineThatIsCutIsAnError(t *testing.T) {
	for _, line := range []string{"", "42 (a)", "42 (a) S 7 1", "x (a) S 7"} {
		if _, _, err := parse([]byte(line)); err == nil {
			t.Errorf("no error for %q", line)
		}
	}
}

func TestOwnCPUAndFilesAreSeen(t *testing.T) {
	before, err := Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	files := make([]*os.File, 5)
	for i := range files {
		if files[i], err = os.Open("/dev/null"); err != nil {
			t.Fatal(err)
		}
		defer files[i].Close()
	}
	var after Usage
	for sum := 0; after.CPU < before.CPU+30*time.Millisecond; {
		for i := range 10_000_000 {
			sum += i
		}
		if after, err = Read(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	if after.OpenFiles < before.OpenFiles+5 || after.RSSBytes == 0 {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

func TestChildrenCountAndStrangersDoNot(t *testing.T) {
	// A shell that holds two files open on top of what it inherits, and says when it does.
	child := exec.Command("/bin/sh", "-c", "exec 7</dev/null 8</dev/null; echo; exec sleep 60")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	own, err := Read(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if own.OpenFiles < 5 {
		t.Errorf("the child has %d open files, want at least 5", own.OpenFiles)
	}
	all, err := Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if all.OpenFiles < own.OpenFiles+3 || all.RSSBytes <= own.RSSBytes {
		t.Errorf("together %+v, the child alone %+v", all, own)
	}
}

func TestAProcessThatIsNotThereIsAnError(t *testing.T) {
	if _, err := Read(1 << 30); err == nil {
		t.Error("no error")
	}
}
