import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { platformDefaults } from '../src/render/index.ts';

const root = join(import.meta.dirname, '..');
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

test('the install guide says where to get `svc` before it uses it, and the build puts `svc` there', () => {
  const [, section = ''] = textOf('docs/guides/install.md').split('## `svc install`');
  const [origin = ''] = section.split('```');
  const { bin } = JSON.parse(textOf('package.json')) as { bin: Record<string, string> };
  expect(origin).toContain(`npm run build && node ${bin['svc']} install`);
  expect(textOf('Dockerfile')).toContain(`ENTRYPOINT ["node", "/app/${bin['svc']}"]`);
  expect(origin).toContain(`${platformDefaults.svcImage} install`);
});
