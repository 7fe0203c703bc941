// The peer of bench:tsdb: Prometheus' chunk codec, timed in a program of its own.
module svc.dev/bench/tsdb/peer

go 1.26.0

require github.com/prometheus/prometheus v0.315.0

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/grafana/regexp v0.0.0-20250905093917-f7b3be9d1853 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.71.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
