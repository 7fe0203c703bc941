import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { bearerToken } from '../src/net/auth/token-auth.ts';
import { names, ports } from '../src/render/names.ts';

/** Tests that the proxy of docs/guides/sign-in.md uses the names and ports of the objects that we render. */

const root = join(import.meta.dirname, '..');
const guide = readFileSync(join(root, 'docs/guides/sign-in.md'), 'utf8');

interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string };
  spec: unknown;
}
const documents = parseAllDocuments(readFileSync(join(root, 'examples/sign-in/oauth2-proxy.yaml'), 'utf8'));
const of = (kind: string): Manifest => {
  const found = documents.map((document) => document.toJS() as Manifest).filter((object) => object.kind === kind);
  expect(found).toHaveLength(1);
  return found[0]!;
};
interface Container {
  args: string[];
  ports: { name: string; containerPort: number }[];
  volumeMounts: { name: string; mountPath: string }[];
}
interface DeploymentSpec {
  template: {
    metadata: { labels: Record<string, string> };
    spec: { containers: Container[]; volumes: { name: string; configMap: { name: string } }[] };
  };
}

test('the manifest parses, and each object is named where it is used', () => {
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  const { template } = of('Deployment').spec as DeploymentSpec;
  const [container] = template.spec.containers;
  expect(template.spec.volumes[0]!.configMap.name).toBe(names.caBundle);
  expect(container!.args).toContain(`--upstream=https://${names.query}.svc-system.svc:${ports.query}`);
  expect(of('ClusterRoleBinding')).toMatchObject({ roleRef: { name: names.promqlReader } });
  expect(of('Service')).toMatchObject({
    spec: { selector: template.metadata.labels, ports: [{ targetPort: container!.ports[0]!.name }] },
  });
  expect(of('NetworkPolicy')).toMatchObject({
    spec: {
      podSelector: { matchLabels: template.metadata.labels },
      ingress: [{ ports: [{ port: container!.ports[0]!.containerPort }] }],
    },
  });
  expect(of('Ingress')).toMatchObject({
    spec: { rules: [{ http: { paths: [{ backend: { service: { name: of('Service').metadata.name } } }] } }] },
  });
  const namespaced = documents
    .map((document) => document.toJS() as Manifest)
    .filter(({ kind }) => kind !== 'ClusterRoleBinding');
  expect(new Set(namespaced.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['svc-system']));
});

test('the proxy passes the Authorization header, and no header that names a user', () => {
  const { template } = of('Deployment').spec as DeploymentSpec;
  const { args } = template.spec.containers[0]!;
  for (const flag of ['--pass-authorization-header=true', '--pass-user-headers=false', '--pass-basic-auth=false'])
    expect(args).toContain(flag);
});

test('the guide’s configuration of the API server parses, and tokens are accepted up to the length it states', () => {
  const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(guide)!;
  const { kind, jwt } = parse(yaml) as { kind: string; jwt: { issuer: { audiences: string[] } }[] };
  expect(kind).toBe('AuthenticationConfiguration');
  expect(guide).toContain(`client-id=${jwt[0]!.issuer.audiences[0]}`);
  const most = Number(/Up to ([\d,]+) characters/.exec(guide)![1]!.replace(',', ''));
  expect(bearerToken(`Bearer ${'a'.repeat(most - 'Bearer '.length)}`)).toBeDefined();
  expect(bearerToken(`Bearer ${'a'.repeat(most)}`)).toBeUndefined();
});
