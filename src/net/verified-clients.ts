import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import { certificatesOf } from './tls-material.ts';

/** The longest delay of a timer. Units: ms. */
const longestMs = 2 ** 31 - 1;

/**
 * The open connections of one server whose clients showed a verified certificate.
 * Guarantees: `end` is called for each connection whose certificate is trusted no more, since TLS checks a certificate
 * only once for each connection.
 */
export class VerifiedClients {
  readonly #open = new Set<TLSSocket>();
  readonly #end: (socket: TLSSocket) => void;
  /** The authorities by which `judge` last went; undefined while they are those of the start. */
  #cas: readonly X509Certificate[] | undefined;

  constructor(end: (socket: TLSSocket) => void) {
    this.#end = end;
  }

  /** Follows a connection whose handshake is done. It ends with the life of its certificate. */
  follow(socket: TLSSocket): void {
    if (!socket.authorized || socket.destroyed) return;
    // A handshake that began before a change was verified against the authorities of then.
    if (this.#cas && !isIssuedBy(chainOf(socket), this.#cas, Date.now())) return this.#end(socket);
    this.#open.add(socket);
    const endsAt = Date.parse(socket.getPeerCertificate().valid_to);
    let timer: NodeJS.Timeout | undefined;
    const watch = (): void => {
      const leftMs = endsAt - Date.now();
      if (leftMs <= 0) this.#end(socket);
      else timer = setTimeout(watch, Math.min(leftMs, longestMs)).unref();
    };
    socket.once('close', () => {
      clearTimeout(timer);
      this.#open.delete(socket);
    });
    watch();
  }

  /** Ends the connections whose certificates are of none of these authorities, PEM. */
  judge(ca: string): void {
    const cas = (this.#cas = certificatesOf(ca));
    for (const socket of this.#open) if (!isIssuedBy(chainOf(socket), cas, Date.now())) this.#end(socket);
  }
}

/** The client's certificate and the intermediates that it sent, leaf first; empty when TLS accepted no certificate. */
export function chainOf(socket: TLSSocket): X509Certificate[] {
  if (typeof socket.getPeerCertificate !== 'function' || !socket.authorized) return [];
  const chain: X509Certificate[] = [];
  let next: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  while (next?.raw && chain.length < 6) {
    chain.push(new X509Certificate(next.raw));
    next = next.issuerCertificate === next ? undefined : next.issuerCertificate;
  }
  return chain;
}

/** Whether a chain that TLS has verified leads to one of these CAs. Units: `now` in ms since the epoch. */
export function isIssuedBy(chain: readonly X509Certificate[], cas: readonly X509Certificate[], now: number): boolean {
  for (const [i, certificate] of chain.entries()) {
    if (now < Date.parse(certificate.validFrom) || now > Date.parse(certificate.validTo)) return false;
    if (cas.some((ca) => certificate.checkIssued(ca) && certificate.verify(ca.publicKey))) return true;
    const next = chain[i + 1];
    if (!next || !next.ca || !certificate.checkIssued(next) || !certificate.verify(next.publicKey)) return false;
  }
  return false;
}
