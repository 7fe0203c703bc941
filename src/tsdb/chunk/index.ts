/** Prometheus' XOR chunk encoding for floats. Pure: no files, no clock. */
export { floatOf, highBits, isStale, lowBits, staleHigh, staleLow } from './float-bits.ts';
export { encodeChunks, recutChunk, samplesPerChunk, sealed } from './recut.ts';
export { SampleBuffer } from './sample-buffer.ts';
export { maxTimestamp, XorAppender } from './xor-appender.ts';
export { chunkSampleCount, decodeXorChunk } from './xor-decoder.ts';
