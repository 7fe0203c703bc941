import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../../src/api/meta.ts';
import {
  controllerDefaults,
  platformDefaults,
  renderController,
  renderPlatform,
  type Right,
} from '../../src/render/index.ts';
import { rightsRow } from './rights.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/reference/rights.md'), 'utf8');
const rows = page.split('\n').filter((line) => line.startsWith('| `'));
const parts = /^svc-(controller.*|agent|query|query-custom-metrics)$/;
const objects = [
  ...renderController(controllerDefaults),
  ...renderPlatform({ ...platformDefaults, customMetrics: { register: true } }),
];
const roles = objects.filter(({ kind, metadata }) => /Role$/.test(kind) && parts.test(metadata.name!));
const rulesOf = (of: readonly KubeObject[]) => of.flatMap((role) => role['rules'] as Right['rule'][]);
const rendered = rulesOf(roles);

test('every rule of the rendered roles has its row in rights.md, and every row its rule', () => {
  const cells = (row: string): string[] => row.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, ''));
  const documented = rows.map((row) => cells(row).slice(0, 4)).sort();
  const given = rendered.map((rule) => rightsRow({ rule, why: '' }).slice(0, 4)).sort();
  expect(documented).toEqual(given);
});

test('every row says what needs the right', () => {
  expect(rows.length).toBeGreaterThan(20);
  for (const row of rows) expect(row).toMatch(/\| [A-Z][^|]{8,}\. \|$/);
});

/**
 * Names of the ClusterRoles that apply to the whole cluster. A ClusterRole that only a RoleBinding binds applies to one
 * namespace.
 */
const bound = objects
  .filter(({ kind }) => kind === 'ClusterRoleBinding')
  .map((binding) => (binding['roleRef'] as { name: string }).name);
const clusterWide = rulesOf(
  roles.filter(({ kind, metadata }) => kind === 'ClusterRole' && bound.includes(metadata.name!)),
);
const writes = ['create', 'patch', 'update', 'delete', 'deletecollection', '*'];

test('no Secret is readable in the whole cluster', () => {
  expect(clusterWide.length).toBeGreaterThan(10);
  expect(clusterWide.filter(({ resources }) => resources?.some((name) => ['secrets', '*'].includes(name)))).toEqual([]);
});

test('writes in the whole cluster are limited to named objects, statuses, finalizers, reviews and Events', () => {
  const open = clusterWide.filter(
    ({ verbs, resourceNames }) => resourceNames === undefined && verbs.some((verb) => writes.includes(verb)),
  );
  const harmless = /\/status$|\/finalizers$|^events$|^tokenreviews$|^subjectaccessreviews$/;
  expect(open.flatMap(({ resources = [] }) => resources.filter((name) => !harmless.test(name)))).toEqual([]);
});
