/** What the head of a request is made of. */
export interface RequestParts {
  readonly host: string;
  readonly port: number;
  readonly method: string;
  /** The request target in origin form. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | readonly Uint8Array[];
}

/** Methods whose lack of a body is said by a length of 0. */
const withBody: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/**
 * The head of an HTTP/1.1 request with the empty line that ends it; the length of the body is in it.
 * Errors: an Error for anything that would end the line that it stands in, or belongs to the framing.
 */
export function requestHead({ host, port, method, path, headers = {}, body }: RequestParts): string {
  if (!/^[A-Z]+$/.test(method)) throw new Error(`method ${JSON.stringify(method)}`);
  if (!/^\/[\x21-\x7e]*$/.test(path))
    throw new Error('the path is not in origin form, or has characters to be escaped');
  let text = `${method} ${path} HTTP/1.1\r\nHost: ${host.includes(':') ? `[${host}]` : host}:${port}\r\n`;
  for (const name of Object.keys(headers)) {
    const value = headers[name]!;
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || framing.test(name)) throw new Error(`header ${name}`);
    if (!/^[\t\x20-\x7e]*$/.test(value)) throw new Error(`the value of header ${name} is not printable ASCII`);
    text += `${name}: ${value}\r\n`;
  }
  if (body !== undefined || withBody.has(method)) text += `Content-Length: ${lengthOf(body)}\r\n`;
  return `${text}Connection: keep-alive\r\n\r\n`;
}

const framing = /^(host|content-length|transfer-encoding|connection|expect|upgrade)$/i;

function lengthOf(body: RequestParts['body']): number {
  if (body === undefined) return 0;
  if (typeof body === 'string') return Buffer.byteLength(body);
  if (body instanceof Uint8Array) return body.length;
  return body.reduce((sum, piece) => sum + piece.length, 0);
}
