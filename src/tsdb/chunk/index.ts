/**
 * Prometheus' chunk encodings: XOR for floats (1), native histograms of integers (2) and floats (3). Pure: no files, no
 * clock.
 */
export { floatOf, highBits, highWord, isStale, lowBits, lowWord, staleHigh, staleLow } from './float-bits.ts';
export { HistogramAppender, headerFor } from './histogram-appender.ts';
export { decodeHistogramChunk } from './histogram-decoder.ts';
export type { HistogramPoint } from './histogram-decoder.ts';
export { assertHistogram, bucketIndexes, sameHistogram, spansOf } from './native-histogram.ts';
export type { NativeHistogram, Span } from './native-histogram.ts';
export { decodePoints, encodePoints, kindOf } from './points.ts';
export type { Point } from './points.ts';
export { encodeChunks, samplesPerChunk } from './encode-floats.ts';
export { recutChunk } from './recut.ts';
export { SampleBuffer } from './sample-buffer.ts';
export { decodeMarked, decodeXorChunk, slackBytes } from './xor-decoder.ts';
export type { XorPlace } from './xor-decoder.ts';
export { encodeXor, maxSampleBytes, maxTimestamp } from './xor-encoder.ts';
export { XorStates } from './xor-states.ts';
