import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { decodeMetricsRequest, decodeTracesRequest } from '../agent/otlp/protobuf/decode.ts';
import { encodeMetricsRequest, encodeTracesRequest } from './otlp-encode.ts';

const dir = join(import.meta.dirname, '../agent/testdata/otlp');

test.each(readdirSync(dir).filter((name) => name.endsWith('.bin')))(
  '%s is unchanged after encoding and decoding',
  (name) => {
    const raw = readFileSync(join(dir, name));
    const body = raw[0] === 0x1f ? gunzipSync(raw) : raw;
    if (name.includes('traces')) {
      const request = decodeTracesRequest(body);
      expect(request.resources).not.toHaveLength(0);
      expect(decodeTracesRequest(encodeTracesRequest(request))).toEqual(request);
    } else {
      const request = decodeMetricsRequest(body);
      expect(request.resources).not.toHaveLength(0);
      expect(decodeMetricsRequest(encodeMetricsRequest(request))).toEqual(request);
    }
  },
);
