import { customResourceDefinition } from '../../src/api/schema/crd.ts';
import { kinds } from '../../src/api/v1alpha1/index.ts';
import { installationFiles } from './installation.ts';
import { yamlOf } from './yaml.ts';

/** A generated file: its path from the root of the repository, and its whole content. */
export interface GeneratedFile {
  path: string;
  content: string;
}

/** Every generated file of the repository. Pure: equal sources give equal bytes. */
export function generatedFiles(): GeneratedFile[] {
  return [...crdFiles(), ...installationFiles()];
}

function crdFiles(): GeneratedFile[] {
  return kinds.map((kind) => ({
    path: `crds/${kind.resource.group}_${kind.resource.plural}.yaml`,
    content: yamlOf(customResourceDefinition(kind)),
  }));
}
