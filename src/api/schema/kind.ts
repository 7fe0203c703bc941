import type { TSchema } from '@sinclair/typebox';
import type { ResourceRef } from '../meta.ts';
import type { CelRule } from './build.ts';

/** One column of `kubectl get`: a field by JSON path, or the status of a condition by its type. */
export type PrinterColumn = {
  name: string;
  type: 'string' | 'integer' | 'date';
  description?: string;
  /** Only with `-o wide`. */
  wide?: boolean;
} & ({ path: string } | { condition: string });

/** Everything that a custom resource definition is made from. */
export interface KindDefinition {
  resource: ResourceRef;
  listKind: string;
  singular: string;
  shortNames: string[];
  categories: string[];
  /** The product that the kind belongs to: `app.kubernetes.io/name` of the definition. */
  product: string;
  description: string;
  spec: TSchema;
  /**
   * With an integer member `observedGeneration`, a new object gets the status `{ observedGeneration: -1 }` from the API
   * server, so that tools do not take it as done. That status must be a valid one: every other member is optional or has
   * a default, the minimum of `observedGeneration` is at most -1, and CEL rules admit it.
   */
  status: TSchema;
  columns: PrinterColumn[];
  /** CEL rules on the whole object: rules of the spec cannot see `metadata.name`. */
  rules?: CelRule[];
}
