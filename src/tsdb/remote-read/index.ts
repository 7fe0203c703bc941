/** Prometheus' remote read v1: codec for both sides and a server handler that depends on no HTTP framework. */
export { buildStreamedRead, readStreamedSeries, streamedContentType } from './client.ts';
export { createRemoteReadHandler, partitionHeader, remoteReadPath } from './server.ts';
export type { RemoteReadHandler, RemoteReadHttpRequest, RemoteReadHttpResponse, RemoteReadLimits } from './server.ts';
export { decodeReadRequest, encodeReadRequest, negotiateResponse, responseType, splitQueries } from './read-request.ts';
export type { ReadHints, ReadQuery, ReadRequest } from './read-request.ts';
export type { ChunkedSeries } from './chunked-series.ts';
export { snappyCompress, snappyDecompress } from './snappy.ts';
