import { createServer, type Server } from 'node:http';
import { serverLimits } from '../net/https-server.ts';
import { probeHandler, type ProbeParts } from '../runtime/index.ts';

/** Probes and `/metrics`, plain HTTP: the NetworkPolicy says who gets here. */
export function createOperatorServer(parts: ProbeParts): Server {
  return createServer({ ...serverLimits }, probeHandler(parts));
}
