import type { ServerResponse } from 'node:http';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { certificatePath, maxCertificateBytes, parseIssuedCertificate } from '../../capture/index.ts';
import type { NodeCertificate } from '../certificate/node-certificate.ts';
import { readBody } from '../otlp/request-body.ts';
import { answerError, answerJson, answerMethod, answerRefusal, parsedJson } from './answers.ts';
import type { Route } from './routes.ts';

/**
 * The agent's side of the certificate exchange (`src/capture/node-certificate.ts`).
 * The TLS listener decides which clients may call this route. Only the operator may, because the answer to GET has a
 * secret token.
 */
export function certificateRoute(
  certificate: Pick<NodeCertificate, 'offer' | 'install'> | undefined,
  logger: Logger,
): Route {
  const serve: Route['serve'] = (req, res) => {
    if (!certificate)
      return answerError(
        res,
        404,
        'not_found',
        'this agent uses the certificate of its TLS directory and requests none',
      );
    const fail = (error: unknown): void => refuse(res, error, logger);
    if (req.method === 'GET') return certificate.offer().then((offer) => answerJson(res, 200, offer), fail);
    if (req.method !== 'PUT') return answerMethod(res, 'GET, PUT');
    return readBody(req, { wire: maxCertificateBytes, decoded: maxCertificateBytes })
      .then((body) => certificate.install(parseIssuedCertificate(parsedJson(body)).certificate))
      .then(() => void res.writeHead(204).end(), fail);
  };
  return { path: certificatePath, serve };
}

function refuse(res: ServerResponse, error: unknown, logger: Logger): void {
  if (res.headersSent || res.destroyed || answerRefusal(res, error)) return;
  logger.error('certificate request failed', { error: errorText(error) });
  answerError(res, 503, 'unavailable', errorText(error).slice(0, 200));
}
