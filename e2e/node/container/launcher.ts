import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { toolEnvironment } from '../../cluster/processes.ts';
import type { ProcessSpec } from './process.ts';
import { containerEnvironment, expand } from './environment.ts';
import { commandLine, findImage, resolveProgram } from './images.ts';
import { mountParents } from '../volumes/mount-parents.ts';
import type { NodeContext } from '../node-context.ts';
import type { ProbeTarget } from './probe.ts';
import { createRewriter } from './rewrite.ts';
import type { TokenSource } from '../volumes/tokens.ts';
import type { Container, Pod } from '../types.ts';
import { mountsOf } from '../volumes/volumes.ts';
import type { VolumeSettings } from '../volumes/volumes.ts';

/** Turns the containers of one pod into local processes. */
export interface Launcher {
  readonly tokens: TokenSource;
  volumes(pod: Pod): VolumeSettings;
  /** Errors: `WaitingError` with the reason that `kubectl get pods` shows. */
  prepare(pod: Pod, container: Container): Promise<ProcessSpec>;
  probeTarget(pod: Pod, container: Container, spec: ProcessSpec): ProbeTarget;
}

const tokenMount = '/var/run/secrets/kubernetes.io/serviceaccount';

export function createLauncher(node: NodeContext, podDir: string, podIP: string, tokens: TokenSource): Launcher {
  const loopback = node.addresses.loopbackOf(podIP);
  const addresses = { podIP, hostIP: node.nodeIP };
  const volumes = (pod: Pod): VolumeSettings => ({
    podDir,
    hostDir: node.hostDir,
    addresses,
    tokens,
    read: (kind, name) => node.objects.get(kind, pod.metadata.namespace, name, pod.metadata.uid),
  });
  const socketSuffix = (pod: Pod): string =>
    `-${createHash('sha256').update(`${node.run}/${pod.metadata.uid}`).digest('hex').slice(0, 12)}`;
  const rewriter = (pod: Pod, mounts: { mountPath: string; target: string }[]) =>
    createRewriter({ mounts, podIP, loopback, socketSuffix: socketSuffix(pod) });
  const rewriterOf = (pod: Pod, container: Container, env: Readonly<Record<string, string>> = {}) => {
    const mounts = mountsOf(pod, container, volumes(pod), (path) => expand(path, env));
    return { mounts, rewrite: rewriter(pod, mounts) };
  };
  return {
    tokens,
    volumes,
    async prepare(pod, container) {
      const image = findImage(node.images, container.image);
      const own = await containerEnvironment(pod, container, addresses, volumes(pod).read);
      const { mounts } = rewriterOf(pod, container, own);
      const home = join(podDir, 'containers', container.name);
      const rewrite = rewriter(pod, [...mounts, ...(await mountParents(mounts, join(home, 'root')))]);
      const argv = commandLine(
        image,
        {
          ...container,
          ...(container.command ? { command: container.command.map((a) => rewrite(expand(a, own))) } : {}),
          ...(container.args ? { args: container.args.map((a) => rewrite(expand(a, own))) } : {}),
        },
        podDir,
      );
      await mkdir(join(home, 'tmp'), { recursive: true });
      await mkdir(join(podDir, 'logs'), { recursive: true });
      const facts: Record<string, string> = {
        nodeName: node.nodeName,
        nodeIP: node.nodeIP,
        podIP,
        loopback,
        socketSuffix: socketSuffix(pod),
      };
      const fill = (text: string): string => text.replaceAll(/\{(\w+)\}/g, (m, name: string) => facts[name] ?? m);
      const imageEnv = Object.entries(image.env ?? {}).map(([name, value]) => [name, fill(value)] as const);
      const env: Record<string, string> = {
        ...baseEnvironment(node, pod, home),
        ...Object.fromEntries(imageEnv),
        ...Object.fromEntries(Object.entries(own).map(([name, value]) => [name, rewrite(value)])),
      };
      const token = mounts.find((m) => m.mountPath.startsWith(tokenMount));
      if (token && own['KUBECONFIG'] === undefined) {
        env['KUBECONFIG'] = await writePodKubeconfig(node, pod, home, token.target);
      }
      const cwd = container.workingDir === undefined ? home : rewrite(container.workingDir);
      return { run: node.run, argv, env, cwd: cwd === container.workingDir ? home : cwd };
    },
    probeTarget(pod, container, spec) {
      const { rewrite } = rewriterOf(pod, container, spec.env);
      const image = findImage(node.images, container.image);
      return {
        podIP,
        container,
        rewrite,
        command: (argv) => ({ ...spec, argv: resolveProgram(image, container.image, argv).map((a) => rewrite(a)) }),
      };
    },
  };
}

/** The environment of every container, whatever its image. */
function baseEnvironment(node: NodeContext, pod: Pod, home: string): Record<string, string> {
  const server = new URL(node.api.server);
  return {
    PATH: toolEnvironment()['PATH'] ?? '',
    HOME: home,
    TMPDIR: join(home, 'tmp'),
    HOSTNAME: pod.spec.hostNetwork ? node.nodeName : pod.metadata.name,
    KUBERNETES_SERVICE_HOST: server.hostname,
    KUBERNETES_SERVICE_PORT: server.port,
    NODE_OPTIONS: '--disable-warning=ExperimentalWarning',
    // Many processes start from the same sources on one machine: the second one finds them compiled.
    NODE_COMPILE_CACHE: node.compileCacheDir,
  };
}

/** Writes a kubeconfig that names token and CA by file, so that the client sees both rotate. */
async function writePodKubeconfig(node: NodeContext, pod: Pod, home: string, tokenDir: string): Promise<string> {
  const path = join(home, 'kubeconfig');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'pod',
    clusters: [
      { name: 'pod', cluster: { server: node.api.server, 'certificate-authority': join(tokenDir, 'ca.crt') } },
    ],
    users: [{ name: 'pod', user: { tokenFile: join(tokenDir, 'token') } }],
    contexts: [{ name: 'pod', context: { cluster: 'pod', user: 'pod', namespace: pod.metadata.namespace } }],
  };
  await writeFile(path, JSON.stringify(config, undefined, 2), { mode: 0o600 });
  return path;
}
