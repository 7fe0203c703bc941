/** Prometheus' chunk encodings: XOR for floats (1), native histograms of integers (2) and floats (3). Pure: no files, no clock. */
export { floatOf, highBits, isStale, lowBits, staleHigh, staleLow } from './float-bits.ts';
export { encodingOf, HistogramAppender, headerFor } from './histogram-appender.ts';
export { decodeHistogramChunk } from './histogram-decoder.ts';
export type { HistogramPoint, ResetHeader } from './histogram-decoder.ts';
export { assertHistogram, bucketIndexes, sameHistogram, spansOf } from './native-histogram.ts';
export type { NativeHistogram, Span } from './native-histogram.ts';
export { decodePoints, encodePoints, kindOf } from './points.ts';
export type { Point } from './points.ts';
export { encodeChunks, samplesPerChunk } from './encode-floats.ts';
export { recutChunk } from './recut.ts';
export { SampleBuffer } from './sample-buffer.ts';
export { XorAppender } from './xor-appender.ts';
export { grown, maxSampleBytes, maxTimestamp, XorColumns } from './xor-columns.ts';
export { chunkSampleCount, decodeXorChunk } from './xor-decoder.ts';
