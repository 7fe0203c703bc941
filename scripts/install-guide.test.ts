import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { KubeObject } from '../src/api/meta.ts';
import { flagOf } from '../src/base/settings.ts';
import { installSettingTable } from '../src/bin/install/settings.ts';
import { operatorSettingTable } from '../src/controllers/operator-settings.ts';
import {
  controllerDefaults,
  platformDefaults,
  renderController,
  renderPlatform,
  selectorLabels,
} from '../src/render/index.ts';
import { mayConnect } from '../src/testing/network-policy.ts';
import { imageCommands } from './release/images.ts';

const root = join(import.meta.dirname, '..');
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

test('the install guide says where to get `svc` before it uses it, and the build puts `svc` there', () => {
  const [, section = ''] = textOf('docs/guides/install.md').split('## `svc install`');
  const [origin = ''] = section.split('```');
  const { bin } = JSON.parse(textOf('package.json')) as { bin: Record<string, string> };
  expect(origin).toContain(`npm run build && node ${bin['svc']} install`);
  expect(textOf('Dockerfile')).toContain(`ENTRYPOINT ["node", "/app/${bin['svc']}"]`);
  const [docker = ''] = /docker run [^`]*/.exec(origin) ?? [];
  expect(docker).toContain(`${platformDefaults.svcImage} install`);
  // The image runs as another user, who may not read a kubeconfig; and in the container 127.0.0.1 is the container.
  expect(textOf('Dockerfile')).toMatch(/^USER 65532/m);
  expect(docker).toContain('--network host --user "$(id -u):$(id -g)" -v ~/.kube:/kube:ro');
});

test('the install guide says what Docker needs for the OCI archives of `make images`', () => {
  const [intro = ''] = textOf('docs/guides/install.md').split('## One file');
  const identity = { commit: 'c0ffee', date: '2026-01-01T00:00:00Z' };
  const machine = 'amd64';
  const image = { target: 'svc', architecture: machine, version: '0.1.0', identity, machine, file: 'x.tar' } as const;
  expect(imageCommands('docker', image).flat().join(' ')).toContain('type=oci');
  expect(intro).toMatch(/containerd image store/);
  expect(intro).toContain('`docker-container`');
  expect(intro).toContain(`skopeo copy oci-archive:FILE docker-daemon:${platformDefaults.svcImage}`);
});

test('the policy that the install guide names for another scraper opens the metrics ports of all our programs to it', () => {
  const path = 'config/prometheus/network-policy.yaml';
  expect(/^\*\*Scrapers\.\*\*.*$/m.exec(textOf('docs/guides/install.md'))?.[0]).toContain(path);
  const ours = [...renderController(controllerDefaults), ...renderPlatform(platformDefaults)];
  const from = { namespace: 'monitoring', labels: { app: 'prometheus' } };
  const open = (policies: readonly KubeObject[]): boolean[] =>
    (
      [
        ['agent', 9090],
        ['controller', 8080],
        ['query', 9096],
      ] as const
    ).map(([component, port]) => {
      const to = { namespace: 'svc-system', labels: selectorLabels(component) };
      return mayConnect(policies, { from, to, port, protocol: 'TCP' });
    });
  expect(open(ours)).toEqual([false, false, false]);
  expect(open([...ours, parse(textOf(path)) as KubeObject])).toEqual([true, true, true]);
});

test('`svc install` has every setting of the operator but those that the install guide names', () => {
  const named =
    /^\*\*Flags of the Deployment alone\.\*\*.*?:(.*?)\. Add/m.exec(textOf('docs/guides/install.md'))?.[1] ?? '';
  const missing = Object.keys(operatorSettingTable).filter((key) => !(key in installSettingTable));
  expect([...named.matchAll(/`(--[a-z-]+)`/g)].map(([, flag]) => flag).toSorted()).toEqual(
    missing.map(flagOf).toSorted(),
  );
});
