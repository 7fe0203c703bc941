import { Type } from '@sinclair/typebox';
import type { Condition, LabelSelector } from '../meta.ts';
import { choice, intOrString, list, map, object, optional, rules, text } from './build.ts';

/** Schemas that more than one kind uses. Bounds follow Kubernetes' own limits for names, keys and values. */

export const patterns = {
  duration: '^([0-9]+(ms|s|m|h))+$',
  ratio: '^(0(\\.\\d{1,6})?|1(\\.0{1,6})?)$',
  glob: '^[A-Za-z0-9._*?-]+$',
  dnsLabel: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
  dnsSubdomain: '^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$',
  labelKey: '^([a-z0-9]([-.a-z0-9]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$',
  metricLabel: '^[a-zA-Z_][a-zA-Z0-9_]*$',
  byteSize: '^[0-9]+(Ki|Mi|Gi|Ti|k|M|G|T)?$',
  countOrPercent: '^(100|[1-9][0-9]?)%$',
  quantity: '^[0-9]+(\\.[0-9]+)?(m|Ki|Mi|Gi|Ti|k|M|G|T)?$',
} as const;

/** Refuses credentials in a URL: many people can read an object, so credentials belong in Secrets. */
export const noUserInfo = {
  rule: "!self.matches('^[A-Za-z]+://[^/?#]*@')",
  message: 'must not hold a user or a password: they belong in a Secret',
};

const noDollar = {
  rule: "!self.contains('$') && !self.contains('\\n')",
  message: 'must not contain $ or a line break: the instrument would expand it from its environment',
};

/** Refuses text that the instrument would expand from its own environment. */
export const safeText = rules(noDollar);

/** A duration such as `30s`, `5m` or `1h30m`. A `minimum` is checked by the API server. */
export function duration(description: string, minimum?: string) {
  return text(description, {
    maxLength: 32,
    pattern: patterns.duration,
    ...(minimum
      ? rules({ rule: `duration(self) >= duration('${minimum}')`, message: `must be at least ${minimum}` })
      : {}),
  });
}

/** A share between 0 and 1 as a string, so that no float is ever stored. */
export function ratio(description: string) {
  return text(description, { maxLength: 16, pattern: patterns.ratio });
}

/** A name pattern with `*` and `?`. */
export function glob(description: string, maxLength = 63) {
  return text(description, {
    minLength: 1,
    maxLength,
    ...rules({
      rule: `self.matches('${patterns.glob}')`,
      message: 'only letters, digits, dot, underscore, dash and the wildcards * and ? are allowed',
    }),
  });
}

/** A number of bytes: `268435456`, `256Mi`, `2Gi`. `options` adds rules. */
export function byteSize(description: string, options: object = {}) {
  return intOrString(description, patterns.byteSize, { minimum: 0, ...options });
}

const selectorOperators = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;

/** A label key as Kubernetes has it, whatever the length of its prefix. */
const wholeLabelKey =
  '^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$';
const isLabelKey = (name: string): string => `${name}.matches('${wholeLabelKey}') && ${name}.indexOf('/') <= 253`;
const labelKeyFault = 'a label key is a name of at most 63 characters, perhaps after a DNS name of at most 253 and /';
const labelValue = (description: string) =>
  text(description, {
    maxLength: 63,
    ...rules(noDollar, {
      rule: "self.matches('^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
      message:
        'a label value has letters, digits, dashes, underscores and dots, and begins and ends with one of the first two',
    }),
  });

/**
 * A label selector with bounds. It refuses what Kubernetes refuses in a selector, because such a requirement matches
 * nothing, or everything. These are rules, not patterns, so that a `status.lastAcceptedSpec` of version 0.1.0 still
 * counts. `extra` adds rules on the whole selector.
 */
export function labelSelector(description: string, extra: object = {}) {
  return Type.Unsafe<LabelSelector>(
    object(
      description,
      {
        matchLabels: optional(
          map('Labels that must be present with exactly these values.', labelValue('The value.'), {
            maxProperties: 16,
            ...rules({ rule: `self.all(k, ${isLabelKey('k')})`, message: labelKeyFault }),
          }),
        ),
        matchExpressions: optional(
          list(
            'Requirements on label keys. All must hold.',
            object(
              'One requirement on a label key.',
              {
                key: text('The label key.', {
                  minLength: 1,
                  maxLength: 317,
                  pattern: patterns.labelKey,
                  ...rules({ rule: isLabelKey('self'), message: labelKeyFault }),
                }),
                operator: choice('How the key is compared with the values.', selectorOperators),
                values: optional(
                  list(
                    'The values for In and NotIn; leave it out for Exists and DoesNotExist.',
                    labelValue('A value.'),
                    { maxItems: 32 },
                  ),
                ),
              },
              rules({
                rule: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
                message: 'In and NotIn need values, Exists and DoesNotExist take none',
              }),
            ),
            { maxItems: 16 },
          ),
        ),
      },
      { 'x-kubernetes-map-type': 'atomic', ...extra },
    ),
  );
}

/** `status.conditions` of every kind: metav1.Condition, merged by type. */
export const conditions = Type.Unsafe<Condition[]>(
  list(
    'What the controller has found out about this object, one entry for each aspect.',
    object('One aspect of the state.', {
      type: text('The aspect, in CamelCase.', {
        maxLength: 316,
        pattern:
          '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
      }),
      status: choice('Whether the aspect holds.', ['True', 'False', 'Unknown']),
      reason: text('Why, as one CamelCase word of the documented list.', {
        minLength: 1,
        maxLength: 1024,
        pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
      }),
      message: text('Why, in a sentence.', { maxLength: 32_768 }),
      lastTransitionTime: timestamp('When the status last changed.'),
      observedGeneration: optional(generation('The generation of the object that this entry was computed from.')),
    }),
    { maxItems: 16, type: 'map', keys: ['type'] },
  ),
);

/** A `metadata.generation`. */
export function generation(description: string) {
  return Type.Integer({ description, format: 'int64', minimum: 0 });
}

/** `status.observedGeneration` of every kind; -1 is the default, for an object that no controller has seen. */
export const observedGeneration = Type.Integer({
  description: 'The generation that this status describes; -1 until a controller has looked at the object.',
  format: 'int64',
  minimum: -1,
});

/** A count that a controller reports. */
export function count(description: string) {
  return Type.Integer({ description, format: 'int64', minimum: 0 });
}

/** An RFC 3339 time. */
export function timestamp(description: string) {
  return Type.String({ description, format: 'date-time', maxLength: 64 });
}

/** A hash such as `sha256:9f2c…`. */
export function hash(description: string) {
  return text(description, { maxLength: 80 });
}

/** A key of a Secret in the namespace of the object that refers to it. */
export function secretKeyRef(description: string) {
  return object(description, {
    name: text('The name of the Secret.', { minLength: 1, maxLength: 253, pattern: patterns.dnsSubdomain }),
    key: text('The key in its data.', { minLength: 1, maxLength: 253, pattern: '^[-._a-zA-Z0-9]+$' }),
  });
}
