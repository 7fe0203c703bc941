import type { KubeObject } from '../../api/meta.ts';
import { kinds } from '../../api/v1alpha1/index.ts';
import type { Clock } from '../../base/clock.ts';
import type { QueryRequest, QueryServer } from '../../bin/kubectl-svc/connect/query-server.ts';
import { runPlugin } from '../../bin/kubectl-svc/program.ts';
import type { ClusterView } from '../../bin/kubectl-svc/cluster/view.ts';
import { FakeApiServer, StatusError } from '../fake-api-server/index.ts';

/** What one call of the plugin left behind. */
export interface PluginRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface PluginWorld {
  readonly api: FakeApiServer;
  readonly clock: Clock;
  readonly stdin?: string;
  /** What the query server answers, by path; without it there is none. */
  readonly answer?: (request: QueryRequest) => string;
}

/** An API server in memory that knows our kinds. */
export async function startApi(): Promise<FakeApiServer> {
  return FakeApiServer.start({ resources: kinds.map(({ resource }) => resource) });
}

/** Runs the plugin as its executable does, with captured output. */
export async function runWith(
  args: readonly string[],
  { api, clock, stdin = '', answer }: PluginWorld,
): Promise<PluginRun> {
  const written = { stdout: '', stderr: '' };
  const output = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => void (written[name] += text),
    isTerminal: false,
    columns: 100,
    rows: 40,
  });
  const code = await runPlugin(args, {
    stdout: output('stdout'),
    stderr: output('stderr'),
    readStdin: () => Promise.resolve(stdin),
    env: {},
    clock,
    signal: new AbortController().signal,
    kube: () => api.client(),
    connect: () => (answer ? Promise.resolve(fakeQueryServer(answer)) : Promise.reject(new Error('nobody is there'))),
  });
  return { code, ...written };
}

function fakeQueryServer(answer: (request: QueryRequest) => string): QueryServer {
  return {
    target: 'a test',
    request: (request) => Promise.resolve({ status: 200, headers: {}, text: answer(request) }),
    stream: () => Promise.reject(new Error('no stream here')),
    close: () => {},
  };
}

/** Puts every object of a view into the server, each with its status. Secrets that the view has not are forbidden. */
export function fill(api: FakeApiServer, view: ClusterView): void {
  const refused = new StatusError(403, 'Forbidden', 'no');
  if (view.secrets.fault !== undefined) api.script({ plural: 'secrets' }, { do: 'fail', error: refused }, 1_000);
  for (const member of Object.values(view) as { items?: readonly KubeObject[] }[]) {
    for (const { status, ...object } of member.items ?? []) {
      const resource = api.resourceOf(object as KubeObject);
      api.put(resource, object as KubeObject);
      if (status !== undefined) api.putStatus(resource, object.metadata.namespace, object.metadata.name ?? '', status);
    }
  }
}
