/**
 * The only entry for HTTP: every server of ours is created by `createHttpServer`, or by `createTlsServer` and
 * `createApiServer` in the parent folder, which put the same limits and checks in front of their handlers.
 */
export { expressHandler, isUndecodable } from './express.ts';
export { createHttpServer } from './http-server.ts';
export type { DoorOptions, HttpHandler } from './door.ts';
export { probeLimits, type HttpLimits } from './limits.ts';
export { httpServerMetrics } from './metrics.ts';
export { goneSignal, sendPart, writePart } from './outgoing.ts';
export { isLoopback, peerAddress } from './peer-address.ts';
export { parseQualityList, type Weighted } from './quality-list.ts';
export { codeForm, type RefusalForm } from './refusal.ts';
