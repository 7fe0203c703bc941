import { Type, type Static } from '@sinclair/typebox';
import type { TlsResponse } from '../net/tls-client.ts';
import { OperatorError } from '../base/errors.ts';
import { parser } from '../base/wire/parser.ts';
import { askAgent, type AgentAddress, type AgentTransport } from './push-client.ts';

/**
 * How the agent of a node obtains its certificate, on the port of the capture protocol. The operator initiates the
 * exchange; the agent's private key never leaves its node.
 *
 * `GET /v1/certificate` → CertificateOffer: a certificate request, and the proof of the agent's identity.
 * `PUT /v1/certificate` body: IssuedCertificate → 204; 400 `{code, message}` when the certificate is not for the key
 *                       of the last offer, or when the agent does not trust the CA that signed it.
 *
 * The agent shows its token only to the operator's client certificate, and the token is of no use at the API server:
 * its audience is `certificateAudience`.
 */
export const certificatePath = '/v1/certificate';

const pem = Type.String({ minLength: 1, maxLength: 8 * 1024 });

/** Unknown members are allowed: a newer agent may send more. */
export const certificateOfferSchema = Type.Object({
  /** The node that the agent claims to serve: for messages only. */
  node: Type.String({ maxLength: 253 }),
  /** PKCS#10, PEM. */
  request: pem,
  /** The pod's service-account token for `certificateAudience`. */
  token: Type.String({ minLength: 1, maxLength: 16 * 1024 }),
  /** The certificate that the agent serves now, PEM; absent before the agent has its first. */
  certificate: Type.Optional(pem),
});

export const issuedCertificateSchema = Type.Object({ certificate: pem }, { additionalProperties: false });

export type CertificateOffer = Static<typeof certificateOfferSchema>;
export type IssuedCertificate = Static<typeof issuedCertificateSchema>;

/** Checks the body of a `PUT` and returns the certificate in it. Errors: ERR_INPUT_INVALID that names the field. */
export const parseIssuedCertificate = parser('certificate', issuedCertificateSchema);
const parseOffer = parser('certificate offer', certificateOfferSchema);

/** Largest offer and answer. Units: bytes. */
export const maxCertificateBytes = 40 * 1024;
/** Deadline of each of the two calls. Units: ms. */
const deadlineMs = 5_000;

/**
 * One agent's side of the exchange, as the operator calls it. The transport does not check the server's certificate:
 * the agent has none yet, or one that has to be replaced. The operator sends nothing secret, and the offer proves who
 * answered.
 * Errors: ERR_CAPTURE_PUSH for a refusal (its text is in the message) or a malformed answer; those of the transport.
 */
export class CertificateClient {
  readonly #transport: AgentTransport;
  readonly #address: AgentAddress;

  constructor(transport: AgentTransport, address: AgentAddress) {
    this.#transport = transport;
    this.#address = address;
  }

  async offer(signal: AbortSignal): Promise<CertificateOffer> {
    const answer = await this.#send('GET', signal, 200);
    try {
      return parseOffer(JSON.parse(answer.body.toString('utf8')));
    } catch (cause) {
      // Without the message of the cause, which may quote the answer and the token in it.
      const field = cause instanceof OperatorError ? `: ${cause.message}` : '';
      throw new OperatorError('ERR_CAPTURE_PUSH', `the agent's offer is malformed${field}`);
    }
  }

  /** Delivers the certificate; the agent serves it from its next connection on. */
  async deliver(certificate: string, signal: AbortSignal): Promise<void> {
    await this.#send('PUT', signal, 204, { certificate });
  }

  #send(method: string, signal: AbortSignal, expected: number, body?: IssuedCertificate): Promise<TlsResponse> {
    const sent = body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {};
    const request = { method, path: certificatePath, ...sent, deadlineMs, maxBytes: maxCertificateBytes, signal };
    return askAgent(this.#transport, this.#address, request, [expected]);
  }
}
