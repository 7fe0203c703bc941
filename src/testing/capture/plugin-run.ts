import type { KubeObject } from '../../api/meta.ts';
import { kinds } from '../../api/v1alpha1/index.ts';
import type { Clock } from '../../base/clock.ts';
import type { ClusterView } from '../../bin/kubectl-svc/cluster/view.ts';
import type { QueryRequest } from '../../bin/kubectl-svc/connect/query-server.ts';
import { FakeApiServer, StatusError } from '../fake-api-server/index.ts';
import { runPluginHere, type PluginResult } from '../plugin/plugin-run.ts';

export interface PluginWorld {
  readonly api: FakeApiServer;
  readonly clock: Clock;
  readonly stdin?: string;
  /** The query server's answer to a request. Default: there is no query server. */
  readonly answer?: (request: QueryRequest) => string;
}

/** An in-memory API server that knows our kinds. */
export async function startApi(): Promise<FakeApiServer> {
  return FakeApiServer.start({ resources: kinds.map(({ resource }) => resource) });
}

/** Runs the plugin against an in-memory API server. */
export async function runWith(args: readonly string[], { api, answer, ...more }: PluginWorld): Promise<PluginResult> {
  return runPluginHere(args, {
    ...more,
    kube: () => api.restClient(),
    answer: (request) => {
      if (!answer) throw new Error('nobody is there');
      return { text: answer(request) };
    },
  });
}

/**
 * Puts every object of a view into the server, each with its status. If the view has a fault instead of Secrets, the
 * server refuses requests for Secrets.
 */
export function fill(api: FakeApiServer, view: ClusterView): void {
  const refused = new StatusError(403, 'Forbidden', 'no');
  if (view.secrets.fault !== undefined) api.script({ plural: 'secrets' }, { do: 'fail', error: refused }, 1_000);
  // `ownPods` is left out: its pods are among `pods` already.
  const { ownPods: _own, ...lists } = view;
  for (const member of Object.values(lists) as { items?: readonly KubeObject[] }[]) {
    for (const { status, ...object } of member.items ?? []) {
      const resource = api.resourceOf(object as KubeObject);
      api.put(resource, object as KubeObject);
      if (status !== undefined) api.putStatus(resource, object.metadata.namespace, object.metadata.name ?? '', status);
    }
  }
}
