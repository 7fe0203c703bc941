/**
 * What `svc-operator/schema` exports: builders for the schema of a kind. Its TypeScript type, its
 * CustomResourceDefinition and the JSON Schema for editors follow from that schema. `surface/schema.txt` lists all
 * names.
 */
export * from '../api/schema/build.ts';
export {
  byteSize,
  conditions,
  count,
  duration,
  generation,
  observedGeneration,
  secretKeyRef,
  timestamp,
} from '../api/schema/common.ts';
export { customResourceDefinition, structuralSchema, type JsonSchema } from '../api/schema/crd.ts';
export { editorSchema } from '../api/schema/editor.ts';
export type { KindDefinition, PrinterColumn } from '../api/schema/kind.ts';
export type { Static } from '@sinclair/typebox';
