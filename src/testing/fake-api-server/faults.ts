import type { StatusError } from './status-error.ts';

/** The verb of a request, as RBAC names it; `apply` is a patch by server-side apply. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'apply' | 'delete';

/** One request as the server saw it. */
export interface SeenRequest {
  verb: Verb;
  method: string;
  path: string;
  plural: string;
  namespace: string | undefined;
  name: string | undefined;
  subresource: string | undefined;
  query: URLSearchParams;
  authorization: string | undefined;
  userAgent: string | undefined;
  /** Whether the answer is to hold only the metadata of objects (`as=PartialObjectMetadata`). */
  metadataOnly: boolean;
}

/** Selects requests: by members that must be equal, or by a function. */
export type RequestMatch =
  Partial<Pick<SeenRequest, 'verb' | 'plural' | 'namespace' | 'name' | 'subresource'>> | ((r: SeenRequest) => boolean);

/** What the server does to a request. */
export type Fault =
  /** Answer with this failure; `retryAfter` becomes the header. */
  | { do: 'fail'; error: StatusError; retryAfter?: string | undefined }
  /** Close the connection without an answer (ECONNRESET). `afterWork`: execute the request first. */
  | { do: 'reset'; afterWork?: boolean }
  /**
   * Hold the request until the promise resolves, then execute and answer it. `afterWork`: execute the request
   * immediately and hold back only the answer.
   */
  | { do: 'hold'; until: Promise<void>; afterWork?: boolean }
  /** Answer with these bytes, valid or not. */
  | { do: 'raw'; status: number; body: string; contentType?: string };

interface Rule {
  match: RequestMatch;
  fault: Fault;
  times: number;
}

/** Faults for future requests. A request gets the earliest added fault that matches it. */
export class FaultScript {
  readonly #rules: Rule[] = [];

  /** The next `times` requests that match get the fault. */
  add(match: RequestMatch, fault: Fault, times = 1): void {
    this.#rules.push({ match, fault, times });
  }

  /** The fault for a request, if any; counts as one use of its rule. */
  take(request: SeenRequest): Fault | undefined {
    const at = this.#rules.findIndex((rule) => matchesRequest(request, rule.match));
    const rule = this.#rules[at];
    if (!rule) return undefined;
    if (--rule.times <= 0) this.#rules.splice(at, 1);
    return rule.fault;
  }

  clear(): void {
    this.#rules.length = 0;
  }
}

export function matchesRequest(request: SeenRequest, match: RequestMatch): boolean {
  if (typeof match === 'function') return match(request);
  return Object.entries(match).every(([name, value]) => request[name as keyof SeenRequest] === value);
}
