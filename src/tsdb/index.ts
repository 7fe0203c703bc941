/**
 * The agent's embedded time-series store: XOR chunks byte for byte as Prometheus writes them, a write-ahead log,
 * blocks of two hours, and the stock remote-read protocol. It knows nothing of OTLP, PromQL or HTTP frameworks.
 * It is not made for several writers, or for data that does not arrive roughly in time order.
 */
export { openStore } from './store.ts';
export type {
  AppendResult,
  Chunk,
  ChunkEncoding,
  HeldSeries,
  LatestSample,
  ListOptions,
  MatcherSets,
  SelectedSeries,
  Selection,
  SeriesRef,
  Store,
  StoreOptions,
  StoreStats,
} from './types.ts';
export {
  assertLabels,
  compareLabels,
  compareUtf8,
  labelsFromObject,
  labelsFromPairs,
  labelsKey,
  labelsToObject,
  labelValue,
  withExternalLabels,
} from './labels.ts';
export type { Labels } from './labels.ts';
export { compileMatcher, compileMatchers, compileSets } from './matcher.ts';
export type { CompiledMatcher, Matcher, MatchType } from './matcher.ts';
export { nodeFiles } from './disk/file-layer.ts';
export type { FileLayer, ReadableFile, WritableFile } from './disk/file-layer.ts';
export {
  buildStreamedRead,
  createRemoteReadHandler,
  decodeReadRequest,
  encodeReadRequest,
  negotiateResponse,
  partitionHeader,
  readStreamedSeries,
  remoteReadPath,
  responseType,
  snappyCompress,
  snappyDecompress,
  splitQueries,
} from './remote-read/index.ts';
export type {
  ChunkedSeries,
  ReadHints,
  ReadQuery,
  RemoteReadHandler,
  RemoteReadHttpRequest,
  RemoteReadHttpResponse,
  RemoteReadLimits,
} from './remote-read/index.ts';
export {
  bucketIndexes,
  decodeHistogramChunk,
  decodeXorChunk,
  encodePoints,
  kindOf,
  SampleBuffer,
  samplesPerChunk,
  spansOf,
} from './chunk/index.ts';
export type { HistogramPoint, NativeHistogram, Point, Span } from './chunk/index.ts';
