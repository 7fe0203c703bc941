import { ApiError } from '../../cluster/api.ts';
import type { Api } from '../../cluster/api.ts';
import type { Pod } from '../types.ts';

/** Service-account tokens of one pod, from the TokenRequest API. */
export interface TokenSource {
  /** A token with at least a fifth of its life left. `audience` undefined: the API server's own. */
  token(pod: Pod, audience: string | undefined, expirationSeconds: number): Promise<string>;
  /** Milliseconds until the first of the tokens handed out so far is to be renewed; undefined when there is none. */
  nextRotationMs(): number | undefined;
}

interface Held {
  token: string;
  renewAt: number;
}

interface TokenRequest {
  status: { token: string; expirationTimestamp: string };
}

/** Renews at 80 % of a token's life, as kubelet does. */
export function createTokenSource(api: Api, now: () => number = Date.now): TokenSource {
  const held = new Map<string, Held>();
  return {
    async token(pod, audience, expirationSeconds) {
      const key = `${audience ?? ''}|${expirationSeconds}`;
      const old = held.get(key);
      if (old && now() < old.renewAt) return old.token;
      const { name, namespace, uid } = pod.metadata;
      const account = pod.spec.serviceAccountName ?? 'default';
      const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
      const { status } = await afterAuthorization(() =>
        api.request<TokenRequest>('POST', path, {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          spec: {
            ...(audience === undefined ? {} : { audiences: [audience] }),
            expirationSeconds,
            boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
          },
        }),
      );
      // The server may grant a longer life than requested; readers count on the requested one.
      const life = Math.min(expirationSeconds * 1000, Date.parse(status.expirationTimestamp) - now());
      held.set(key, { token: status.token, renewAt: now() + life * 0.8 });
      return status.token;
    },
    nextRotationMs() {
      const times = [...held.values()].map((h) => h.renewAt);
      return times.length === 0 ? undefined : Math.max(0, Math.min(...times) - now());
    },
  };
}

/** Retries for 2 s: the API server answers 403 until it has learned which node the pod is bound to. */
async function afterAuthorization<T>(call: () => Promise<T>): Promise<T> {
  for (let left = 20; ; left--) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 403 || left === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
