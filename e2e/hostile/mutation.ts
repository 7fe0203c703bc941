import { canonicalJson } from '../../src/base/canonical-json.ts';
import { captureHash, capturePutPath, zeroConfig } from '../../src/capture/index.ts';
import { callLine, say, type Identity, type Target } from './caller.ts';
import { inBatches } from './malformed.ts';

const config = zeroConfig({ node: 'node-1', ports: '8080', instrumentVersion: 'v0.10.0' });
const metrics = {
  resourceMetrics: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
      scopeMetrics: [
        {
          metrics: [
            {
              name: 'http.server.request.duration',
              unit: 's',
              histogram: {
                aggregationTemporality: 2,
                dataPoints: [
                  {
                    timeUnixNano: '1700000000000000000',
                    count: '3',
                    sum: 1.5,
                    bucketCounts: ['1', '2'],
                    explicitBounds: [1],
                  },
                ],
              },
            },
          ],
        },
      ],
    },
  ],
};
const spans = {
  resourceSpans: [
    {
      scopeSpans: [
        { spans: [{ traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), name: 'GET', startTimeUnixNano: '1' }] },
      ],
    },
  ],
};
const review = {
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: 'u',
    operation: 'CREATE',
    resource: { group: 'svc.dev', version: 'v1alpha1', resource: 'trafficmonitors' },
    name: 'm',
    namespace: 'shop',
    object: {
      apiVersion: 'svc.dev/v1alpha1',
      kind: 'TrafficMonitor',
      metadata: { name: 'm' },
      spec: { mode: 'Capture' },
    },
  },
};

/** Valid requests of each listener: method, path, body, content type. */
const requests: Readonly<Record<string, readonly (readonly [string, string, (string | object)?, string?])[]>> = {
  metrics: [
    ['GET', '/readyz?verbose&exclude=caches'],
    ['GET', '/metrics'],
  ],
  webhook: [
    ['POST', '/validate/trafficmonitors', review],
    [
      'POST',
      '/convert',
      {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'ConversionReview',
        request: { uid: 'u', desiredAPIVersion: 'x/v1', objects: [{}] },
      },
    ],
  ],
  'otlp-http': [
    ['POST', '/v1/metrics', metrics],
    ['POST', '/v1/traces', spans],
    ['POST', '/v1/metrics', '\x0a\x10\x0a\x0e\x0a\x0c\x0a\x04name\x12\x04\x0a\x02ab', 'application/x-protobuf'],
  ],
  scrape: [
    ['GET', '/metrics'],
    ['GET', '/readyz'],
  ],
  'remote-read': [
    ['GET', '/api/v1/metadata'],
    ['GET', '/api/v1/query_exemplars?query=up%7Ba%3D%22b%22%7D&start=0&end=1'],
    ['POST', '/api/v1/read', '\x10\x3c\x0a\x0e\x08\x00\x10\x01\x1a\x08\x12\x01a\x1a\x01b', 'application/x-protobuf'],
    ['POST', '/api/v1/partial', { version: 1, query: 'sum(up)', startMs: 0, endMs: 1, stepMs: 1 }],
    ['POST', '/api/v1/index', { version: 1, kind: 'names', matchers: [] }],
    ['POST', '/api/v1/admin/tsdb/delete_series?match[]=nothing&start=0&end=1', ''],
  ],
  'span-stream': [
    ['GET', '/v1/spans?namespace=shop&limit=3'],
    ['POST', '/v1/stream', { kinds: ['span'], limit: 3 }],
  ],
  'capture-config': [
    ['GET', '/v1/status?after=0&wait=0'],
    ['PUT', capturePutPath(captureHash(config)), canonicalJson(config)],
    ['PUT', '/v1/secrets', { revision: 'r', secrets: {} }],
  ],
  query: [
    ['GET', '/api/v1/query?query=up&time=1700000000'],
    ['GET', '/api/v1/query?query=sum(max_over_time(svc_agent_up[5m:15s]))'],
    ['GET', '/api/v1/query?query=topk(3,{__name__=~"svc_.%2B"})%20or%20svc_agent_up'],
    ['GET', '/api/v1/series?match[]=svc_agent_up&limit=10'],
    ['POST', '/api/v1/query_range', 'query=rate(up[5m])&start=0&end=60&step=15', 'application/x-www-form-urlencoded'],
    ['GET', '/api/v1/label/job/values?match[]=up'],
    ['GET', '/api/v1/format_query?query=sum(up)by(a)'],
    ['POST', '/api/v1/read', '\x10\x3c\x0a\x0e\x08\x00\x10\x01\x1a\x08\x12\x01a\x1a\x01b', 'application/x-protobuf'],
    ['GET', '/v1/flows?namespace=shop&limit=1'],
    ['GET', '/graph?g0.expr=up'],
  ],
  'query-health': [
    ['GET', '/readyz'],
    ['GET', '/metrics'],
  ],
  'custom-metrics': [
    ['GET', '/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/*/http_requests?labelSelector=a%3Db'],
    ['GET', '/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue'],
    ['GET', '/openapi/v2'],
    ['GET', '/apis'],
  ],
  minter: [
    ['POST', '/token', { org_name: 'acme', repositories: ['gitops'], scope: 's' }],
    ['GET', '/version'],
  ],
  'minter-admin': [
    ['GET', '/readyz'],
    ['GET', '/metrics'],
  ],
};

/** Valid requests to the target's listener, with the caller's token, as bytes. */
function validRequests(target: Target, { token }: Identity): Buffer[] {
  return (requests[target.listener] ?? []).map(([method, path, body, type = 'application/json']) => {
    const content =
      body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body), 'latin1');
    const head = [
      `${method} ${path} HTTP/1.1`,
      'Host: localhost',
      'Connection: close',
      ...(token ? [`Authorization: Bearer ${token}`, `X-OIDC-Token: ${token}`] : []),
      ...(content ? [`Content-Type: ${type}`, `Content-Length: ${content.length}`] : []),
    ];
    return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), content ?? Buffer.alloc(0)]);
  });
}

/** Pseudo-random numbers in [0, 1), determined by the seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const interesting = [
  '\0',
  '\r\n',
  '\n',
  '%',
  '%00',
  '//',
  '..',
  '\xff',
  '"',
  '{',
  '[',
  '=',
  ';',
  '&',
  ',',
  '-1',
  '1e999',
  '9'.repeat(30),
];

/** Up to four small changes: a bit flipped, a piece dropped, doubled or replaced, a word put in, the end cut off. */
function mutated(bytes: Buffer, random: () => number): Buffer {
  let out = bytes;
  const at = (): number => Math.floor(random() * out.length);
  for (let n = 1 + Math.floor(random() * 4); n > 0; n--) {
    const start = at();
    const end = Math.min(out.length, start + 1 + Math.floor(random() * 16));
    const [head, piece, tail] = [out.subarray(0, start), out.subarray(start, end), out.subarray(end)];
    const word = Buffer.from(interesting[Math.floor(random() * interesting.length)]!, 'latin1');
    switch (Math.floor(random() * 6)) {
      case 0: {
        out = Buffer.from(out);
        out[start] = out[start]! ^ (1 << Math.floor(random() * 8));
        break;
      }
      case 1:
        out = Buffer.concat([head, tail]);
        break;
      case 2:
        out = Buffer.concat([head, piece, piece, tail]);
        break;
      case 3:
        out = Buffer.concat([head, word, tail]);
        break;
      case 4:
        out = Buffer.concat([head, word, piece, tail]);
        break;
      default:
        if (random() < 0.3) out = head;
    }
    if (out.length === 0) return bytes;
  }
  return out;
}

/**
 * Sends `count` mutations of valid requests. Waits at most 200 ms for each answer, because a request whose end was cut
 * off gets none.
 */
export async function sendMutations(target: Target, identity: Identity, seed: number, count: number): Promise<void> {
  const random = randomOf(seed);
  const valid = validRequests(target, identity);
  if (valid.length === 0) throw new Error(`no valid request is known for the listener ${target.listener}`);
  const all = Array.from({ length: count }, (_, i) => mutated(valid[i % valid.length]!, random));
  await inBatches(all, 20, async (bytes) => say(await callLine(target, identity, { alpn: 'http/1.1' }), bytes, 200));
}
