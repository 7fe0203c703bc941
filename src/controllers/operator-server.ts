import type { Server } from 'node:http';
import { createHttpServer, probeLimits, type DoorOptions } from '../net/http/index.ts';
import { refuseScrape } from '../net/auth/scrape-right.ts';
import type { TokenAuth } from '../net/auth/token-auth.ts';
import { probeHandler, type ProbeParts } from '../runtime/index.ts';

/**
 * Creates the operator's server, which speaks plain HTTP. It serves probes to every caller that the NetworkPolicy
 * admits, and `/metrics` to callers that may `get` that path.
 */
export function createOperatorServer(
  parts: ProbeParts,
  auth: Pick<TokenAuth, 'decide'>,
  options: DoorOptions = {},
): Server {
  const handler = probeHandler({
    liveness: parts.liveness,
    readiness: parts.readiness,
    metricsText: () => parts.metricsText(),
    refuseScrape: (req, res) => refuseScrape(auth, req, res),
  });
  return createHttpServer(handler, { ...options, limits: probeLimits });
}
