/**
 * What `svc-operator/tsdb` exports: the embedded store, its chunks, and the stock remote-read protocol.
 * The list of every name is in `surface/tsdb.txt`.
 */
export * from '../tsdb/index.ts';
export type { Pacing } from '../base/turns/turns.ts';
export type { DecodedHistograms, ResetHeader } from '../tsdb/chunk/histogram-decoder.ts';
export type { SampleColumns } from '../tsdb/chunk/sample-buffer.ts';
export type { ReadRequest } from '../tsdb/remote-read/read-request.ts';
export type { ReadStore } from '../tsdb/remote-read/server.ts';
