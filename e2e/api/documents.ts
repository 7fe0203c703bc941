import type { KindDefinition } from '../../src/api/schema/kind.ts';
import { clusterTrafficPolicyKind, minterDeploymentKind, trafficMonitorKind } from '../../src/api/v1alpha1/index.ts';
import type { Api } from '../cluster/api.ts';
import { ApiError } from '../cluster/api.ts';
import { merge } from './case.ts';
import type { Case } from './case.ts';
import { generatedCases } from './generated-cases.ts';
import { keyOne, minterCases } from './minter-cases.ts';
import { monitorCases } from './monitor-cases.ts';
import { policyCases } from './policy-cases.ts';

/** A kind, its smallest valid spec, and the documents that are made from it. */
export interface Table {
  kind: KindDefinition;
  base: object;
  cases: readonly Case[];
}

const written: readonly Table[] = [
  { kind: trafficMonitorKind, base: { selector: { matchLabels: { app: 'checkout' } } }, cases: monitorCases },
  { kind: clusterTrafficPolicyKind, base: {}, cases: policyCases },
  {
    kind: minterDeploymentKind,
    base: {
      image: 'svc-minter:0.1.0',
      vcs: { org: 'acme', repository: 'gitops' },
      kms: { keyVersion: keyOne },
      rules: {
        inline: {
          scopes: [
            { name: 'main', emails: ['agent@proj.iam.gserviceaccount.com'], permissions: { contents: 'write' } },
          ],
        },
      },
    },
    cases: minterCases,
  },
];

/** The cases that were written by hand, and those that are generated from the schema. */
export const tables: readonly Table[] = written.map((table) => ({
  ...table,
  cases: [...table.cases, ...generatedCases(table.kind)],
}));

/** The API path at which objects of a kind are created. */
export function collectionPath(kind: KindDefinition): string {
  const { resource } = kind;
  return `/apis/${resource.apiVersion}${resource.namespaced ? '/namespaces/default' : ''}/${resource.plural}`;
}

export function documentOf(table: Table, one: Pick<Case, 'spec' | 'name'>): { metadata: object; spec: unknown } {
  const { resource } = table.kind;
  return {
    ...{ apiVersion: resource.apiVersion, kind: resource.kind },
    metadata: { name: one.name ?? 'sample' },
    spec: merge(table.base, one.spec),
  };
}

/** The API server's refusal of a new object, or undefined; nothing is stored. Unknown fields are refused. */
export async function verdict(api: Api, table: Table, one: Pick<Case, 'spec' | 'name'>): Promise<string | undefined> {
  try {
    await api.request(
      'POST',
      `${collectionPath(table.kind)}?dryRun=All&fieldValidation=Strict`,
      documentOf(table, one),
    );
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}
