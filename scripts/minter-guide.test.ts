import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { MinterDeployment } from '../src/api/v1alpha1/index.ts';
import { minterUrl, renderMinter } from '../src/render/index.ts';
import { aMinterDeployment } from '../src/testing/builders/minter-deployment.ts';

const root = join(import.meta.dirname, '..');
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');
const guide = textOf('docs/guides/minter.md');
const sample = textOf('config/samples/minterdeployment.yaml');
const { name, namespace } = (parse(sample) as MinterDeployment).metadata;
const steps = guide.split(/^\d\. /m);

test('the minter guide says where to get `minter` before it uses it, and builds and image put `minter` there', () => {
  const [origin = ''] = steps[1]!.split('minter tools');
  const { bin, scripts } = JSON.parse(textOf('package.json')) as Record<string, Record<string, string>>;
  const program = bin!['minter']!;
  expect(origin).toContain(`\`node ${program}\` after \`make build\``);
  expect(scripts).toHaveProperty('minter');
  expect(origin).toContain('npm run -s minter --');
  expect(textOf('Dockerfile')).toContain(`ENTRYPOINT ["node", "/app/${program}"]`);
  expect(origin).toContain('svc-minter');
});

test('the namespace of the sample exists before anything is applied in it', () => {
  for (const text of [steps[3]!, sample]) {
    const created = text.indexOf(`kubectl create namespace ${namespace}`);
    expect(created).toBeGreaterThan(-1);
    expect(text.indexOf('config/minter/rights.yaml', text.indexOf('kubectl'))).toBeGreaterThan(created);
  }
});

test('the token of the guide has the audience of the sample’s minter', () => {
  const [before = ''] = steps[4]!.split('$ID_TOKEN');
  const minter = aMinterDeployment({}, { name: name!, namespace: namespace! });
  expect(before).toContain(`audience \`${minterUrl(minter)}\``);
});

test('the guide names no variable for the pods of a MinterDeployment that these do not have', () => {
  const rendered = JSON.stringify(renderMinter({ minter: aMinterDeployment(), operatorNamespace: 'svc-system' }));
  expect(rendered).not.toContain('OTEL_EXPORTER_OTLP_ENDPOINT');
  const sentence = /[^.]*`OTEL_EXPORTER_OTLP_ENDPOINT`[^.]*\./.exec(guide)?.[0];
  expect(sentence).toContain('run by hand');
});
