// Times Prometheus' chunk codec on the series of bench:tsdb and prints one JSON object.
// Usage: peer CHUNKS OPEN. It encodes CHUNKS chunks one after the other, and then OPEN chunks at the same time.
// Values are made by the same rule as in bench/tsdb/series.ts.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

const (
	samplesPerChunk = 120
	stepMs          = 30_000
	start           = 1_795_219_200_000
	passesFor       = 0.5
)

func valueOf(series, k int) float64 {
	noise := int((uint32(series)*2_654_435_761 + uint32(k)*40_503) % 1000)
	switch series % 5 {
	case 0:
		return 17
	case 1:
		return float64(k*3 + noise%7)
	case 2:
		return float64(k*150_000 + noise*811)
	case 3:
		return float64(k*1000+noise) / 997
	default:
		return 200 + float64(noise)/8
	}
}

func main() {
	chunks, open := argument(1), argument(2)
	values := make([][]float64, chunks)
	for c := range values {
		values[c] = make([]float64, samplesPerChunk)
		for k := range values[c] {
			values[c][k] = valueOf(c, k)
		}
	}
	encoded := make([]*chunkenc.XORChunk, chunks)
	encode := passSeconds(func() {
		for c := range encoded {
			chunk := chunkenc.NewXORChunk()
			appender, err := chunk.Appender()
			if err != nil {
				panic(err)
			}
			for k, v := range values[c] {
				appender.Append(0, int64(start+k*stepMs), v)
			}
			encoded[c] = chunk
		}
	})
	scrapes := make([][]float64, samplesPerChunk)
	for k := range scrapes {
		scrapes[k] = make([]float64, open)
		for c := range scrapes[k] {
			scrapes[k][c] = valueOf(c, k)
		}
	}
	appenders := make([]chunkenc.Appender, open)
	encodeOpen := passSeconds(func() {
		for c := range appenders {
			appender, err := chunkenc.NewXORChunk().Appender()
			if err != nil {
				panic(err)
			}
			appenders[c] = appender
		}
		for k := range samplesPerChunk {
			for c, appender := range appenders {
				appender.Append(0, int64(start+k*stepMs), scrapes[k][c])
			}
		}
	})
	bytes := 0
	for _, chunk := range encoded {
		bytes += len(chunk.Bytes())
	}
	times := make([]int64, samplesPerChunk)
	floats := make([]float64, samplesPerChunk)
	var it chunkenc.Iterator
	decode := passSeconds(func() {
		for _, chunk := range encoded {
			it = chunk.Iterator(it)
			for n := 0; it.Next() != chunkenc.ValNone; n++ {
				times[n], floats[n] = it.At()
			}
		}
	})
	samples := float64(chunks * samplesPerChunk)
	_ = json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"encode":         samples / encode,
		"encodeOpen":     float64(open*samplesPerChunk) / encodeOpen,
		"decode":         samples / decode,
		"bytesPerSample": float64(bytes) / samples,
	})
}

func argument(at int) int {
	n, err := strconv.Atoi(os.Args[at])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return n
}

// passSeconds returns the mean seconds of a pass. Before it measures, it warms the caches for the same time.
func passSeconds(work func()) float64 {
	repeat := func() float64 {
		from := time.Now()
		passes := 0
		for ; time.Since(from).Seconds() < passesFor; passes++ {
			work()
		}
		return time.Since(from).Seconds() / float64(passes)
	}
	repeat()
	return repeat()
}
