import { Type } from '@sinclair/typebox';
import { list, object, text } from '../schema/build.ts';

/** The status rows that both traffic kinds report: nodes that did not take their configuration. */
export const failedNodes = list(
  'Nodes that do not run the configuration, at most 16 of them: failed ones before unreachable ones. The counts are exact.',
  object('One node.', {
    name: text('The name of the node.', { maxLength: 253 }),
    reason: text('Why, as one word.', { maxLength: 128 }),
    message: Type.Optional(text('Why, in a sentence.', { maxLength: 1024 })),
  }),
  { maxItems: 16 },
);
