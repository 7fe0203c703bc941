import { writeFileSync } from 'node:fs';
import { customResourceDefinition } from 'svc-operator/schema';
import { greeterKind } from './kind.ts';

/** `npm run generate`: the definition of the kind, as `kubectl apply` takes it. The result is committed. */
const definition = customResourceDefinition(greeterKind);
writeFileSync(new URL('../manifests/crd.json', import.meta.url), `${JSON.stringify(definition, undefined, 2)}\n`);
