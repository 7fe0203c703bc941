import type { RefusalForm } from '../../../net/http/index.ts';

/** An answer that is not a success, as a Kubernetes `Status`. */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  /** Whether the connection ends with the answer. */
  readonly closes: boolean;

  constructor(
    code: number,
    reason: string,
    message: string,
    { closes = false, ...options }: { cause?: unknown; closes?: boolean } = {},
  ) {
    super(message, options);
    this.closes = closes;
    this.name = 'StatusError';
    this.code = code;
    this.reason = reason;
  }

  get body(): unknown {
    const { message, reason, code } = this;
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, details: {}, code };
  }
}

export const pathNotFound = (): StatusError =>
  new StatusError(404, 'NotFound', 'the server could not find the requested resource');

/** The message that autoscalers and people know from Kubernetes. `name`: the object, if the request names one. */
export const metricNotFound = (metric: string, resource: string, name?: string): StatusError =>
  new StatusError(
    404,
    'NotFound',
    `the server could not find the metric ${metric} for ${resource}${name === undefined ? '' : ` ${name}`}`,
  );

/** No detail goes to the caller: the cause is in the log. */
export const storeFailed = (cause: unknown): StatusError =>
  new StatusError(500, 'InternalError', 'unable to fetch metrics', { cause });

/** A value that lacks the data of a node is withheld: an autoscaler that gets an error does not scale down. */
export const lacksNodes = (metric: string, nodes: readonly string[]): StatusError =>
  new StatusError(
    503,
    'ServiceUnavailable',
    `the metric ${metric} is incomplete: no data from node ${nodes.join(', ')}; an incomplete value is not served`,
  );

export const notReady = (what: string, options: { closes?: boolean } = {}): StatusError =>
  new StatusError(503, 'ServiceUnavailable', `not ready: ${what}; try again`, options);

export const badRequest = (message: string): StatusError => new StatusError(400, 'BadRequest', message);

const refusalReasons: Readonly<Record<number, string>> = {
  405: 'MethodNotAllowed',
  408: 'Timeout',
  413: 'RequestEntityTooLarge',
  500: 'InternalError',
  503: 'ServiceUnavailable',
};

/** The form in which the listener itself refuses a request, before a handler gets the request. */
export const statusForm: RefusalForm = ({ status, message }) => ({
  type: 'application/json',
  body: JSON.stringify(new StatusError(status, refusalReasons[status] ?? 'BadRequest', message).body),
});
