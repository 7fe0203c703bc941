import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { generatedFiles } from './files.ts';

const root = join(import.meta.dirname, '../..');

describe('generated files', () => {
  test.each(generatedFiles().map((file) => [file.path, file.content]))(
    '%s is what its sources give: run npm run generate and commit the result',
    (path, content) => {
      expect(readFileSync(join(root, path), 'utf8')).toBe(content);
    },
  );

  test('that are YAML have the same values for a parser of YAML 1.1 as for one of YAML 1.2', () => {
    // Templates of the chart become YAML only after Helm has rendered them.
    const yaml = generatedFiles().filter(({ path }) => path.endsWith('.yaml') && !path.includes('/templates/'));
    expect(yaml.length).toBeGreaterThan(20);
    for (const { path, content } of yaml) {
      const [new12, old11] = (['1.2', '1.1'] as const).map((version) =>
        parseAllDocuments(content, { version }).map((document) => document.toJS() as unknown),
      );
      expect({ path, documents: old11 }).toEqual({ path, documents: new12 });
    }
  });
});
