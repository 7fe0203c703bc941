import { customResourceDefinition } from '../../src/api/schema/crd.ts';
import { editorSchema } from '../../src/api/schema/editor.ts';
import { kinds } from '../../src/api/v1alpha1/index.ts';
import { chartFiles } from './chart/chart.ts';
import { dashboardFiles } from './dashboard-model.ts';
import { dashboards } from './dashboards.ts';
import { otlpDecoderFiles } from './decoders/otlp.ts';
import type { GeneratedFile } from './generated-file.ts';
import { installationFiles } from './installation.ts';
import { messageFiles } from './messages.ts';
import { openApiFiles } from './openapi.ts';
import { processReferenceFiles } from './process-reference.ts';
import { referenceFiles } from './reference.ts';
import { rightsFiles } from './rights.ts';
import { yamlOf } from './yaml.ts';

/** Every generated file of the repository. Pure: equal sources give equal bytes. */
export function generatedFiles(): GeneratedFile[] {
  return [
    ...crdFiles(),
    ...schemaFiles(),
    ...installationFiles(),
    ...chartFiles(),
    ...referenceFiles(),
    ...processReferenceFiles(),
    ...rightsFiles(),
    ...dashboardFiles(dashboards),
    ...openApiFiles(),
    ...otlpDecoderFiles(),
    ...messageFiles(),
  ];
}

function crdFiles(): GeneratedFile[] {
  return kinds.map((kind) => ({
    path: `crds/${kind.resource.group}_${kind.resource.plural}.yaml`,
    content: yamlOf(customResourceDefinition(kind)),
  }));
}

/** The paths follow the catalogues of CRD schemas, so that editors find a schema by group, kind and version. */
function schemaFiles(): GeneratedFile[] {
  return kinds.map((kind) => ({
    path: `schemas/${kind.resource.group}/${kind.resource.kind.toLowerCase()}_${kind.resource.version}.json`,
    content: `${JSON.stringify(editorSchema(kind), undefined, 2)}\n`,
  }));
}
