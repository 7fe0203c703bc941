import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TokenAuth } from './token-auth.ts';

/** Why a scrape is refused. */
export interface ScrapeRefusal {
  readonly status: 401 | 403 | 429 | 503;
  /** One sentence that says what to send, or which permission is missing. */
  readonly message: string;
}

/**
 * Whether the client may scrape: TokenReview, then the permission to `get` the path `/metrics`. Undefined: it may.
 * For a 401, sets the header of the challenge (RFC 9110 §11.6.1) on `res`, but does not write the answer.
 */
export async function refuseScrape(
  auth: Pick<TokenAuth, 'decide'>,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<ScrapeRefusal | undefined> {
  const decision = await auth.decide(req, 'get', '/metrics');
  if (decision.allowed) return undefined;
  const { status, message } = decision;
  if (status === 401) res.setHeader('www-authenticate', 'Bearer');
  switch (status) {
    case 401:
      return { status, message: `${message}: send one as "Authorization: Bearer …"` };
    case 403:
      return {
        status,
        message: `${message}: the right "get" on the nonResourceURL "/metrics" is missing; ClusterRole svc-metrics-reader grants it`,
      };
    default:
      return { status, message };
  }
}
