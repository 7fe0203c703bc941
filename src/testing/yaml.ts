import { stringify } from 'yaml';

/** Objects as a YAML stream, in the given order, for golden files. */
export function yamlStream(objects: readonly object[]): string {
  return objects.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n');
}
