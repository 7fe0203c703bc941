/**
 * What `svc-operator/schema` exports: builders for the schema of a kind, of which follow its type, its
 * CustomResourceDefinition and the JSON Schema for editors. The list of every name is in `surface/schema.txt`.
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
