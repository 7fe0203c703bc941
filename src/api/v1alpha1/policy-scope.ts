import type { Static } from '@sinclair/typebox';
import { choice, flag, list, map, object, optional, rules, text } from '../schema/build.ts';
import { glob } from '../schema/common.ts';
import { portRange, workloads } from './traffic-fields.ts';

/** What a ClusterTrafficPolicy captures where no monitor says more, and what it never captures. */

export const capture = object(
  'What is captured where no TrafficMonitor says more.',
  {
    mode: optional(
      choice(
        'ByPort: processes that listen on the ports below. All: every process. AllowList: only what monitors select. ByPort unless set.',
        ['ByPort', 'All', 'AllowList'],
      ),
    ),
    ports: optional(
      list("The ports for ByPort; the agent's flag unless set (80, 443, 8080, 8443).", portRange, {
        minItems: 1,
        maxItems: 64,
      }),
    ),
    containersOnly: optional(flag('Leave processes outside containers alone; true unless set.')),
  },
  rules({
    rule: "!has(self.ports) || !has(self.mode) || self.mode == 'ByPort'",
    message: 'ports belong to ByPort; remove ports or set mode: ByPort',
  }),
);

const exclusion = object(
  'Everything that has all of the fields set here; one value of a list is enough.',
  {
    namespaces: optional(
      list('Namespaces.', glob('A namespace; * and ? are wildcards.'), { minItems: 1, maxItems: 32 }),
    ),
    podLabels: optional(
      map('Pod labels.', glob('The value; * and ? are wildcards.'), {
        minProperties: 1,
        maxProperties: 16,
        ...rules({
          rule: "self.all(k, k.matches('^[A-Za-z0-9._/-]+$'))",
          message: 'a label key has only letters, digits, dot, underscore, dash and slash',
        }),
      }),
    ),
    workloads: optional(workloads),
    executables: optional(
      list(
        'Paths of executables.',
        text('A path; * and ? are wildcards.', {
          minLength: 1,
          maxLength: 256,
          ...rules({
            rule: "self.matches('^[A-Za-z0-9._*?/-]+$')",
            message: 'only letters, digits, dot, underscore, dash, slash and the wildcards * and ? are allowed',
          }),
        }),
        { minItems: 1, maxItems: 32 },
      ),
    ),
    ports: optional(list('Ports the process listens on.', portRange, { minItems: 1, maxItems: 64 })),
  },
  rules({
    rule: 'has(self.namespaces) || has(self.podLabels) || has(self.workloads) || has(self.executables) || has(self.ports)',
    message: 'an exclusion names something; an empty one would exclude everything (use paused for that)',
  }),
);
export type Exclusion = Static<typeof exclusion>;

export const exclusions = list('What is never captured. Exclusions always win.', exclusion, { maxItems: 64 });
