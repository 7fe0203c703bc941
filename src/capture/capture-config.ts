import { Type, type Static, type StringOptions } from '@sinclair/typebox';
import { canonicalJson, sha256Hex } from '../base/canonical-json.ts';
import { OperatorError } from '../base/errors.ts';
import { familyNames, protocolNames } from '../api/v1alpha1/index.ts';
import { oneOf, parser } from '../base/wire/parser.ts';

const name = Type.String({ minLength: 1, maxLength: 253 });
const count = Type.Integer({ minimum: 0 });
const strict = { additionalProperties: false } as const;
/**
 * A text that the API server admits by its number of characters. The check of a config counts UTF-16 code units, of
 * which a character has two at most.
 */
const characters = (most: number, options: StringOptions = {}) => Type.String({ ...options, maxLength: 2 * most });

/** The most policies that are in force at a time. Agents of version 0.1.0 take the rules of 64. */
export const maxPolicies = 1_000;
/** The most destinations of one policy or monitor. */
const maxExports = 4;
/** The most globs that one destination is checked against. */
export const maxAllowGlobs = 256;
const maxNamespaces = 20_000;

/** The rules that apply per pod, from a monitor or from a policy's defaults. */
const podRules = {
  /** Metric families to keep; absent = all, empty = no metric at all. */
  families: Type.Optional(Type.Array(oneOf(familyNames), { maxItems: 8 })),
  /** Protocols to keep; absent = all. The instrument captures the union over the node. */
  protocols: Type.Optional(Type.Array(oneOf(protocolNames), { maxItems: 16 })),
  /** Labels removed from every series; increments of series that become equal are added. */
  dropLabels: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 32 })),
  /** Pod label keys promoted to `label_<key>`. */
  podLabels: Type.Optional(Type.Array(Type.String({ maxLength: 317 }), { maxItems: 10 })),
  /** Keep one sample per this many ms; present only when it is longer than the node's export interval. */
  intervalMs: Type.Optional(count),
  /**
   * Present when the instrument samples everything and the agent decides per finished trace. If it has only a ratio,
   * the agent applies it to processes that the instrument samples by another monitor's ratio. Agents of 0.1.0 apply it
   * to every process.
   */
  tail: Type.Optional(
    Type.Object(
      {
        /** Share of ordinary traces to keep, e.g. "0.05". */
        ratio: Type.String({ maxLength: 16 }),
        keepErrors: Type.Boolean(),
        keepSlowerThanMs: Type.Optional(count),
      },
      strict,
    ),
  ),
};

/** One destination. The compiler has checked its host against the allow lists; the agent checks it again. */
const exportRule = {
  name: Type.String({ minLength: 1, maxLength: 63 }),
  type: oneOf(['RemoteWrite', 'OTLP'] as const),
  endpoint: characters(512, { pattern: '^https?://[^\\s$]+$' }),
  /** `<namespace>/<name>/<key>` of the Secret with its token. The token is sent apart from the config and its hash. */
  secret: Type.Optional(Type.String({ maxLength: 600 })),
  /** Metric families to send; absent = all. */
  families: Type.Optional(Type.Array(oneOf(familyNames), { maxItems: 8 })),
  /** Labels added where a series has no such label. */
  labels: Type.Optional(Type.Record(Type.String(), characters(256), { maxProperties: 16 })),
  /** Present where spans are sent too. */
  spans: Type.Optional(Type.Literal(true)),
  /** Host globs that allow a monitor's destination; absent for a destination that a policy itself defines. */
  allow: Type.Optional(Type.Array(Type.String({ maxLength: 253 }), { maxItems: maxAllowGlobs })),
};

/**
 * One monitor's rules for the agent's pipeline. They apply to the series and spans of `pods` in `namespace`. Rules of
 * one namespace are sorted, strongest first. Data of a pod with several rules is kept if one of them wants its family,
 * its protocol and its path. Label lists and headers are united, each rule keeps its own ceilings and destinations, and
 * everything else comes from the first rule alone.
 */
export const captureMonitorRuleSchema = Type.Object(
  {
    namespace: name,
    name,
    uid: Type.String({ maxLength: 128 }),
    /** Names of the matched pods on this node, and of those that left it in the last ten minutes, sorted. */
    pods: Type.Array(name, { maxItems: 10_000 }),
    ...podRules,
    /** Globs of the containers that it selects; absent = any. */
    containers: Type.Optional(Type.Array(Type.String({ maxLength: 253 }), { maxItems: 16 })),
    /**
     * The ports that it selects, e.g. `8080,9000-9010`; absent = any. Requests that a process serves on other ports are
     * not selected; the requests that it sends are.
     */
    ports: Type.Optional(Type.String({ pattern: '^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$', maxLength: 1024 })),
    /** URL paths whose requests are not recorded. `*` matches any text. */
    ignorePaths: Type.Optional(Type.Array(characters(256), { maxItems: 64 })),
    /** Names of the HTTP headers that its spans keep, lower case; a redaction rule must allow each of them too. */
    headers: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 16 })),
    maxSeries: Type.Optional(count),
    maxSpansPerSecond: Type.Optional(count),
    /** The additional destinations of the series and spans of these pods. */
    exports: Type.Optional(Type.Array(Type.Object(exportRule, strict), { maxItems: maxExports })),
  },
  strict,
);

/**
 * Rules for pods without a monitor. The first rule whose namespaces include the pod's namespace applies. A rule without
 * namespaces applies to every pod that no earlier rule covers.
 */
export const captureFallbackRuleSchema = Type.Object(
  { namespaces: Type.Optional(Type.Array(name, { maxItems: maxNamespaces })), ...podRules },
  strict,
);

/**
 * The redaction rules of one policy; without any, only the built-in rules apply.
 * All rules that apply to a namespace are joined so that the most restrictive wins.
 */
export const captureRedactionSchema = Type.Object(
  {
    /** The namespaces it covers; absent = all, and processes outside of pods. */
    namespaces: Type.Optional(Type.Array(name, { maxItems: maxNamespaces })),
    /** Names to redact in addition to the built-in ones, and built-in names to let through. */
    queryParams: Type.Optional(
      Type.Object(
        {
          add: Type.Array(characters(128), { maxItems: 64 }),
          remove: Type.Array(characters(128), { maxItems: 64 }),
        },
        strict,
      ),
    ),
    headers: Type.Optional(
      Type.Object(
        {
          allow: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 })),
          obfuscate: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 })),
        },
        strict,
      ),
    ),
    /** RE2 expressions and the replacement of each match (`$1` is the first group), in order. */
    paths: Type.Optional(
      Type.Array(Type.Object({ pattern: characters(256, { minLength: 1 }), replacement: characters(128) }, strict), {
        maxItems: 32,
      }),
    ),
    labels: Type.Optional(
      Type.Array(
        Type.Object(
          { name: Type.String({ minLength: 1, maxLength: 128 }), action: oneOf(['Drop', 'Hash', 'Truncate'] as const) },
          strict,
        ),
        { maxItems: 64 },
      ),
    ),
    dropClientAddress: Type.Optional(Type.Boolean()),
    dbQueryText: Type.Optional(oneOf(['Drop', 'Keep'] as const)),
  },
  strict,
);

const bounds = Type.Array(Type.Number(), { minItems: 1, maxItems: 64 });

/** A member is absent when no policy sets it: the agent's own setting applies then. Units: ms and bytes. */
const retentionSchema = Type.Object({ timeMs: Type.Optional(count), sizeBytes: Type.Optional(count) }, strict);

/**
 * The config that one agent and its instrument run. The leader compiles it and pushes it whole; its hash identifies it.
 * Optional members are absent unless an object asks for them; an agent refuses members it does not know,
 * so that no rule is dropped silently when the operator is newer than the agent.
 */
export const captureConfigSchema = Type.Object(
  {
    version: Type.Literal(1),
    /** The node it was compiled for. */
    node: name,
    instrument: Type.Object(
      {
        /** The version of the instrument that the file is written for, e.g. `v0.10`. */
        version: Type.String({ maxLength: 32 }),
        /** The exact bytes of the instrument's file. */
        yaml: Type.String({ minLength: 1, maxLength: 4 * 1024 * 1024 }),
      },
      strict,
    ),
    monitors: Type.Array(captureMonitorRuleSchema, { maxItems: 20_000 }),
    /** Absent when no policy has rules for pods without a monitor; at most one rule for each namespace. */
    fallback: Type.Optional(Type.Array(captureFallbackRuleSchema, { maxItems: maxNamespaces })),
    limits: Type.Object(
      {
        maxSeriesPerNode: count,
        maxSeriesPerNamespace: count,
        maxSeriesPerMonitor: count,
        maxLabelValueLength: count,
        onLimit: oneOf(['Aggregate', 'Drop'] as const),
        maxSpansPerSecondPerNode: Type.Optional(count),
      },
      strict,
    ),
    /** Destinations of policies: for the series and spans of some namespaces, or of the whole node. */
    exports: Type.Optional(
      Type.Array(
        Type.Object(
          { policy: name, namespaces: Type.Optional(Type.Array(name, { maxItems: maxNamespaces })), ...exportRule },
          strict,
        ),
        { maxItems: maxPolicies * maxExports },
      ),
    ),
    retention: Type.Object({ metrics: retentionSchema, spans: retentionSchema }, strict),
    /** Redaction rules of the policies, strongest first; absent when no policy has any. */
    redaction: Type.Optional(Type.Array(captureRedactionSchema, { maxItems: maxPolicies })),
    /** Bounds that exponential histograms are converted into, where a policy sets them. Units: seconds, and bytes. */
    histogram: Type.Optional(
      Type.Object({ durationBounds: Type.Optional(bounds), sizeBounds: Type.Optional(bounds) }, strict),
    ),
    /** The objects compiled in, by `generationKey` → their metadata.generation. */
    generations: Type.Record(Type.String(), count),
  },
  strict,
);

export type CaptureMonitorRule = Static<typeof captureMonitorRuleSchema>;
export type CaptureFallbackRule = Static<typeof captureFallbackRuleSchema>;
export type CaptureRedaction = Static<typeof captureRedactionSchema>;
export type CaptureConfig = Static<typeof captureConfigSchema>;
export type CaptureExportRule = NonNullable<CaptureMonitorRule['exports']>[number];
export type CapturePolicyExport = NonNullable<CaptureConfig['exports']>[number];
export type CaptureLimits = CaptureConfig['limits'];
export type CaptureRetention = CaptureConfig['retention'];

/** The address of a config: `sha256:` and 64 lower-case hex digits of its canonical JSON. */
export function captureHash(config: CaptureConfig): string {
  return `sha256:${sha256Hex(canonicalJson(config))}`;
}

/** True for the form that `captureHash` gives. */
export function isCaptureHash(text: string): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(text);
}

/**
 * Checks an outside value (a request body, a file) and returns it as a CaptureConfig.
 * Errors: ERR_INPUT_INVALID that names the first wrong field as a JSON pointer.
 */
export const parseCaptureConfig = parser('capture config', captureConfigSchema);

/** Checks a config that was sent with its hash. Errors: ERR_INPUT_INVALID, also when the config has another hash. */
export function parseAddressed(hash: string, value: unknown): CaptureConfig {
  const config = parseCaptureConfig(value);
  const actual = captureHash(config);
  if (actual !== hash) throw new OperatorError('ERR_INPUT_INVALID', `hash: the body's is ${actual}`);
  return config;
}

/** The limits that apply unless a policy sets others. Units: series and characters. */
export const builtinLimits: CaptureLimits = {
  maxSeriesPerNode: 100_000,
  maxSeriesPerNamespace: 20_000,
  maxSeriesPerMonitor: 10_000,
  maxLabelValueLength: 256,
  onLimit: 'Aggregate',
};
/** The most memory that an agent gives to its ring of spans. Units: bytes. */
export const largestSpanRing = 64 * 1024 ** 2;
/** Default retention of an agent when neither a policy nor its own flags set one. Units: bytes and ms. */
export const builtinRetention = {
  metrics: { timeMs: 24 * 3_600_000, sizeBytes: 2 * 1024 ** 3 },
  spans: { timeMs: 15 * 60_000, sizeBytes: largestSpanRing },
} as const;
