import { OperatorError } from '../../../base/errors.ts';
import { WireReader } from '../../../base/wire/protobuf-wire.ts';
import { Cursor } from '../decode-limits.ts';
import type { MetricsRequest, TracesRequest } from '../model.ts';
import type { AttributeCache } from './attribute-cache.ts';
import { readExportMetricsServiceRequest } from './generated/metrics.ts';
import { readExportTraceServiceRequest } from './generated/traces.ts';

/**
 * Decodes an ExportMetricsServiceRequest. Unknown fields are skipped; a field of the wrong wire type, a length past the
 * end, a metric's name or unit, or a scope's name or version, that is not UTF-8, or a structure beyond `decodeLimits`
 * makes the whole request invalid. In other texts U+FFFD replaces what is not UTF-8. With a `cache`, equal attribute
 * lists come out as one object.
 * Errors: ERR_INPUT_INVALID that names the field's path.
 */
export function decodeMetricsRequest(bytes: Uint8Array, cache: AttributeCache | null = null): MetricsRequest {
  return decode(new Cursor(cache), bytes, readExportMetricsServiceRequest);
}

/**
 * Decodes an ExportTraceServiceRequest, under the same rules as `decodeMetricsRequest`.
 * Errors: ERR_INPUT_INVALID that names the field's path; also for ids of the wrong length.
 */
export function decodeTracesRequest(bytes: Uint8Array): TracesRequest {
  return decode(new Cursor(), bytes, readExportTraceServiceRequest);
}

/** Puts the field's path before errors of the wire format itself. */
function decode<T extends object>(
  cursor: Cursor,
  bytes: Uint8Array,
  read: (cursor: Cursor, message: WireReader) => T,
): T {
  try {
    return cursor.counted(read(cursor, new WireReader(bytes)));
  } catch (cause) {
    if (cause instanceof OperatorError && cause.message.startsWith('protobuf: ')) {
      throw cursor.error(cause.message.slice('protobuf: '.length), cause);
    }
    throw cause;
  }
}
