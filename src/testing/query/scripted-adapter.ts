import { createServer, type Server } from 'node:https';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createCa, issueLeaf, type KeyPairPem } from '../../net/ca.ts';

/** A request that the adapter got. */
export interface AdapterRequest {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

/** An HTTPS server in place of a metrics adapter for autoscalers. A test scripts its answers. */
export interface ScriptedAdapter {
  readonly url: string;
  /** The CA of its certificate, PEM. */
  ca: string;
  /** The requests so far. */
  readonly requests: AdapterRequest[];
  answer: (req: IncomingMessage, res: ServerResponse) => void;
  /** Changes to a certificate of a new CA, and drops all connections. */
  rotate(): Promise<void>;
  close(): Promise<void>;
}

/** Starts an adapter on loopback that answers 404 until a test sets `answer`. */
export async function startScriptedAdapter(now = Date.now()): Promise<ScriptedAdapter> {
  const make = async (): Promise<{ ca: string; leaf: KeyPairPem }> => {
    const ca = await createCa({ commonName: 'adapter-ca', now });
    const leaf = await issueLeaf(ca, { commonName: 'adapter', dnsNames: ['localhost'] }, { now });
    return { ca: ca.cert, leaf };
  };
  const first = await make();
  const server: Server = createServer(first.leaf, (req, res) => {
    adapter.requests.push({ url: req.url ?? '', headers: req.headers });
    adapter.answer(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const adapter: ScriptedAdapter = {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    ca: first.ca,
    requests: [],
    answer: (_req, res) => void res.writeHead(404).end('404 page not found'),
    async rotate() {
      const next = await make();
      adapter.ca = next.ca;
      server.setSecureContext(next.leaf);
      server.closeAllConnections();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return adapter;
}

/** Answers with JSON. */
export function sendJson(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
