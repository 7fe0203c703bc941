// Appends the series of bench:tsdb to Prometheus' own storage, used as a library, and prints one JSON object.
// Usage: ingest DIR SERIES SCRAPES [sync]. Series keep their references, each scrape is one commit, and blocks are cut as
// they are due. With sync the log is on the disk before the next scrape begins. Values are made by the same rule as in bench/tsdb/series.ts.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/wlog"
)

const (
	stepMs = 30_000
	start  = 1_795_219_200_000
)

func valueOf(series, k int) float64 {
	noise := int((uint32(series)*2_654_435_761 + uint32(k)*40_503) % 1000)
	switch series % 5 {
	case 2:
		return float64(k*150_000 + noise*811)
	default:
		return float64(k*1000+noise) / 997
	}
}

func agentValue(series, k int) float64 {
	kind := series % 10
	switch {
	case kind == 0:
		return 17
	case kind < 3:
		return float64(17 + k/40)
	case kind < 8:
		return float64(k * (1 + series%97) / 7)
	case kind == 8:
		return valueOf(2, k)
	default:
		return valueOf(3, k)
	}
}

func labelsOf(i int) labels.Labels {
	return labels.FromStrings(
		"__name__", fmt.Sprintf("metric_%d", i%20),
		"k8s_namespace_name", fmt.Sprintf("ns-%d", i%7),
		"k8s_node_name", "node-1",
		"k8s_pod_name", fmt.Sprintf("pod-%d", i%200),
		"service_name", fmt.Sprintf("service-%d", i%50),
		"le", strconv.Itoa(i%11),
		"instance", strconv.Itoa(i),
	)
}

func main() {
	if err := run(os.Args[1], number(2), number(3), len(os.Args) > 4 && os.Args[4] == "sync"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, count, scrapes int, sync bool) error {
	options := tsdb.DefaultOptions()
	options.RetentionDuration = int64(30 * 24 * time.Hour / time.Millisecond)
	db, err := tsdb.Open(dir, slog.New(slog.DiscardHandler), nil, options, nil)
	if err != nil {
		return err
	}
	series := make([]labels.Labels, count)
	refs := make([]storage.SeriesRef, count)
	for i := range series {
		series[i] = labelsOf(i)
	}
	cpu, from := cpuSeconds(), time.Now()
	for k := range scrapes {
		appender := db.Appender(context.Background())
		t := int64(start + k*stepMs)
		for i := range series {
			if refs[i], err = appender.Append(refs[i], series[i], t, agentValue(i, k)); err != nil {
				return err
			}
		}
		if err := appender.Commit(); err != nil {
			return err
		}
		if sync {
			if err := syncLog(dir); err != nil {
				return err
			}
		}
		if k%120 == 119 {
			if err := db.Compact(context.Background()); err != nil {
				return err
			}
		}
	}
	out := map[string]float64{"cpuSeconds": cpuSeconds() - cpu, "seconds": time.Since(from).Seconds()}
	if err := db.Close(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// syncLog makes the last segment of the log durable. Commit has only handed its data to the kernel.
func syncLog(dir string) error {
	_, last, err := wlog.Segments(filepath.Join(dir, "wal"))
	if err != nil {
		return err
	}
	segment, err := os.OpenFile(wlog.SegmentName(filepath.Join(dir, "wal"), last), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer segment.Close()
	return segment.Sync()
}

// cpuSeconds is the CPU time of all threads, including those of the garbage collector.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func number(at int) int {
	n, err := strconv.Atoi(os.Args[at])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return n
}
