/**
 * The stream of spans and flows: its requests and messages, and their protobuf form. Agents serve the stream, the query
 * server relays it, the command line reads it.
 */
export {
  concerns,
  type FlowEnd,
  type FlowRecord,
  type Recorded,
  rfc3339Nano,
  type SpanRecord,
  timeOf,
} from './records.ts';
export { endsOfSpan, endText, lossReason, operationOf, outcomeOf } from './item-text.ts';
export { resumeOverlapMs, SeenItems } from './seen-items.ts';
export { LineSplitter, maxLineLength } from './line-splitter.ts';
export { brokers, databases, isGrpc, type Protocol, spanProtocol } from './span-protocol.ts';
export {
  type FilterContext,
  type FilterField,
  type FilterValues,
  invalidField,
  type Match,
  type Undecided,
} from './item-filter.ts';
export {
  maxRequestBytes,
  parseStreamRequest,
  requestOfBody,
  requestOfParams,
  requestOfPath,
  streamPaths,
  streamQuery,
  type StreamQuery,
  type StreamRequest,
} from './stream-query.ts';
export {
  itemMessage,
  lostMessage,
  type NodeState,
  parseMessage,
  statusMessage,
  type StreamMessage,
} from './stream-message.ts';
export { decodeRequest, encodeMessage, readPath } from './proto/wire.ts';
