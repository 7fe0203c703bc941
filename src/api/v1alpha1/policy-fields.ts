import { Type } from '@sinclair/typebox';
import { cidrPattern, hostPortPattern } from '../../base/text/address-patterns.ts';
import { choice, flag, integer, intOrString, list, object, opaque, optional, rules, text } from '../schema/build.ts';
import { byteSize, duration, labelSelector, patterns, safeText } from '../schema/common.ts';
import { builtinQueryParams } from './query-params.ts';
import { namingLabelFault, namingLabels, namingLabelsText } from './traffic-fields.ts';

/**
 * The parts of a ClusterTrafficPolicy other than its scope: instrument-wide settings, ceilings, storage and delivery.
 */

export const httpGlobals = object('HTTP settings that exist once for each node.', {
  unmatched: optional(
    choice('How the http_route of a path without a pattern is made; LowCardinality unless set.', [
      'LowCardinality',
      'Heuristic',
      'Wildcard',
      'Path',
      'Unset',
    ]),
  ),
  maxPathSegmentCardinality: optional(
    integer('With LowCardinality: distinct values of a path segment before it becomes *; 10 unless set.', {
      minimum: 1,
      maximum: 1000,
    }),
  ),
  histogram: optional(
    object('The shape of the histograms.', {
      type: optional(
        choice('Explicit buckets, or exponential ones that the agent converts into the explicit buckets.', [
          'Explicit',
          'Exponential',
        ]),
      ),
      durationBuckets: optional(
        list('Upper bounds for durations, ascending.', duration('A bound such as 250ms.'), {
          minItems: 1,
          maxItems: 32,
        }),
      ),
      sizeBuckets: optional(
        list('Upper bounds for body sizes, ascending.', byteSize('A bound such as 512 or 8Ki.'), {
          minItems: 1,
          maxItems: 32,
        }),
      ),
    }),
  ),
});

export const network = object(
  'Flow metrics: who talks to whom, and how much.',
  {
    enabled: optional(flag('Capture flows, which puts the agents into the host network; false unless set.')),
    source: optional(
      choice('How flows are read: a socket filter or traffic control. Auto, the socket filter, unless set.', [
        'Auto',
        'SocketFilter',
        'TC',
      ]),
    ),
    acknowledgeCiliumConflict: optional(
      flag('Confirms that no other eBPF traffic-control program, such as Cilium, runs on the nodes. Needed for TC.'),
    ),
    direction: optional(choice('Which direction counts; Both unless set.', ['Both', 'Ingress', 'Egress'])),
    protocols: optional(
      list('Transport protocols; TCP unless set.', choice('A protocol.', ['TCP', 'UDP', 'ICMP', 'ICMPv6', 'SCTP']), {
        minItems: 1,
        maxItems: 8,
      }),
    ),
    excludeInterfaces: optional(
      list(
        'Network interfaces to leave out. Takes effect with TC only.',
        text('An interface name.', { minLength: 1, maxLength: 15, pattern: '^[A-Za-z0-9._@-]+$' }),
        { maxItems: 32 },
      ),
    ),
    cidrs: optional(
      list(
        'Named address ranges for the src_cidr and dst_cidr labels; the most specific one counts.',
        object(
          'One range.',
          {
            cidr: text('The range, such as 10.0.0.0/8.', { minLength: 1, maxLength: 64 }),
            name: optional(
              text('The label value; the range itself unless set.', {
                minLength: 1,
                maxLength: 63,
                pattern: '^[A-Za-z0-9._-]+$',
              }),
            ),
          },
          rules({
            rule: `self.cidr.matches('${cidrPattern}')`,
            message: 'cidr is an address range such as 10.0.0.0/8 or fd00::/8',
          }),
        ),
        { maxItems: 64 },
      ),
    ),
    sampling: optional(
      integer('Capture one packet of every N for flows; 0, which captures all, unless set.', {
        minimum: 0,
        maximum: 1_000_000,
      }),
    ),
    dropExternal: optional(flag('Leave out flows whose other end is outside the cluster; false unless set.')),
    attributes: optional(
      list(
        "Labels of the flow metrics beyond owner, namespace and direction. Only the server's port is kept: src.port and dst.port both add it, as server_port and on the server's side.",
        text('An attribute such as dst.port or k8s.src.*.', {
          minLength: 1,
          maxLength: 128,
          pattern: '^[a-z][a-z0-9._*]*$',
        }),
        { maxItems: 32 },
      ),
    ),
    deduper: optional(
      choice('How a flow seen on several interfaces is counted once; FirstCome unless set.', ['FirstCome', 'None']),
    ),
  },
  rules({
    rule: "!has(self.source) || self.source != 'TC' || (has(self.acknowledgeCiliumConflict) && self.acknowledgeCiliumConflict)",
    message: 'TC conflicts with Cilium; set acknowledgeCiliumConflict: true if the nodes do not run it',
  }),
);

const seriesLimit = (description: string) => integer(description, { minimum: 1, maximum: 10_000_000 });

export const limits = object('Ceilings that keep a node safe.', {
  maxSeriesPerNode: optional(
    seriesLimit(
      'Series on one node; 100000 unless set. On a full node each namespace may still have a share, all together a quarter more.',
    ),
  ),
  maxSeriesPerNamespace: optional(
    seriesLimit('Series of one namespace on one node, at most half of them of flows; 20000 unless set.'),
  ),
  maxSeriesPerMonitor: optional(seriesLimit('Series of one monitor on one node; 10000 unless set.')),
  maxLabelValueLength: optional(
    integer('Longer label values are cut; 256 unless set.', { minimum: 16, maximum: 4096 }),
  ),
  maxSpansPerSecondPerNode: optional(
    integer(
      'Spans each second on one node; no ceiling unless set. Beyond it each namespace has a share, all together a quarter more.',
      { minimum: 1, maximum: 1_000_000 },
    ),
  ),
  maxMonitorsPerNamespace: optional(
    integer('TrafficMonitors in one namespace; 20 unless set.', { minimum: 1, maximum: 1000 }),
  ),
  onLimit: optional(
    choice(
      'What happens to new series beyond a ceiling: added up under __overflow__, or dropped. Aggregate unless set.',
      ['Aggregate', 'Drop'],
    ),
  ),
});

/** A size that was meant to be in Gi, or to mean "without limit", would delete what is stored. */
const storeSize = (description: string) =>
  byteSize(
    description,
    rules({
      rule: "quantity(string(self)).compareTo(quantity('1Mi')) >= 0",
      message: 'must be at least 1Mi; 0 does not mean without limit, and a number without a unit is in bytes',
    }),
  );

export const retention = object('How long the nodes keep data. Whichever bound is met first counts.', {
  metrics: optional(
    object('The store of series.', {
      time: optional(duration('Age; 24h unless set.', '10m')),
      size: optional(storeSize('Bytes on disk; 2Gi unless set. At least 1Mi.')),
    }),
  ),
  spans: optional(
    object('The ring of spans.', {
      time: optional(duration('Age; 15m unless set.', '1s')),
      size: optional(storeSize('Bytes in memory; 64Mi unless set. At least 1Mi; more than 64Mi is lowered to 64Mi.')),
    }),
  ),
});

const headerName = text('A header name.', { minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' });
const queryName = text('A query parameter name; case does not count.', { minLength: 1, maxLength: 128, ...safeText });

export const redaction = object('What never leaves a node.', {
  queryParams: optional(
    object(
      `URL query parameters whose value is replaced, besides the built-in ones: ${builtinQueryParams.join(', ')}.`,
      {
        add: optional(list('Names to redact too, whatever other policies let through.', queryName, { maxItems: 64 })),
        remove: optional(
          list('Built-in names to let through, unless another policy adds them.', queryName, { maxItems: 64 }),
        ),
      },
    ),
  ),
  headers: optional(
    object('HTTP headers.', {
      allow: optional(list('Headers that monitors may capture; none unless set.', headerName, { maxItems: 64 })),
      obfuscate: optional(list('Captured headers whose value is replaced.', headerName, { maxItems: 64 })),
    }),
  ),
  paths: optional(
    list(
      'Rewrites of URL paths.',
      object('One rewrite.', {
        pattern: text('An RE2 regular expression.', { minLength: 1, maxLength: 256 }),
        replacement: text('What takes its place.', { maxLength: 128 }),
      }),
      { maxItems: 32 },
    ),
  ),
  labels: optional(
    list(
      'Labels of metrics and spans, except those that say which namespace, pod or node a series belongs to.',
      object('One label.', {
        name: text('The label name.', { minLength: 1, maxLength: 128, pattern: patterns.metricLabel }),
        action: choice('Drop it, hash its value, or cut its value.', ['Drop', 'Hash', 'Truncate']),
      }),
      {
        maxItems: 64,
        ...rules(
          {
            rule: 'self.all(a, self.exists_one(b, a.name == b.name))',
            message: 'a label is named twice; give each one action',
          },
          {
            rule: `self.all(l, !(l.name in ${namingLabelsText}))`,
            message: `a label of ${namingLabels.join(', ')} ${namingLabelFault}`,
          },
        ),
      },
    ),
  ),
  dropClientAddress: optional(flag('Leave out the address of the client; true unless set.')),
  dbQueryText: optional(choice('The text of database queries; Drop unless set.', ['Drop', 'Keep'])),
});

export const queryLimits = object(
  'Limits of queries. The strongest policy that sets a field decides it. A policy with a namespaceSelector applies to users who may read only those namespaces; for a user of several namespaces the lowest value counts. No value exceeds the flags of the query server.',
  {
    timeout: optional(duration('The longest a query may run; the flag of the query server unless set.', '1s')),
    perAgentTimeout: optional(
      duration('The longest one agent may take; the flag of the query server unless set.', '100ms'),
    ),
    maxSamples: optional(
      integer('Samples one query may hold at a time; the flag of the query server unless set.', {
        minimum: 1,
        maximum: 2_000_000_000,
      }),
    ),
    maxSeries: optional(
      integer('Series one query may touch; no ceiling unless set.', { minimum: 1, maximum: 100_000_000 }),
    ),
    partialResponse: optional(
      choice(
        'When an agent does not answer: answer with a warning, or fail whatever the client asks for. Warn unless set. Values for autoscalers have rules of their own.',
        ['Warn', 'Fail'],
      ),
    ),
    maxConcurrency: optional(
      integer(
        'Concurrent queries of all users whom this policy limits; one user gets at most half of them. The flag of the query server unless set.',
        { minimum: 1, maximum: 1000 },
      ),
    ),
  },
);

const injection = (what: string) =>
  choice(`Whether the instrument may put ${what}. Disabled unless set.`, ['Enabled', 'Disabled']);

export const instrument = object('Settings of the eBPF instrument.', {
  exportInterval: optional(duration('How often it exports; 10s unless set.', '5s')),
  pollInterval: optional(duration('How often it looks for new processes; 5s unless set.', '1s')),
  clusterName: optional(text('The value of the cluster label.', { maxLength: 253, ...safeText })),
  kubeMetaCache: optional(
    text('Address of a shared metadata cache, host:port, for large clusters.', {
      maxLength: 253,
      pattern: hostPortPattern,
    }),
  ),
  logLevel: optional(choice('How much it logs; Info unless set.', ['Debug', 'Info', 'Warn', 'Error'])),
  injection: optional(
    object('Whether it may change the workloads it watches.', {
      node: optional(injection('a script into Node.js processes')),
      java: optional(injection('an agent into Java virtual machines')),
    }),
  ),
  extraConfig: optional(
    opaque<Record<string, unknown>>(
      'Further keys of its configuration file. Refused unless the controller allows it; unknown keys are refused.',
    ),
  ),
});

export const rollout = object('How a new configuration reaches the nodes.', {
  maxUnavailable: optional(
    intOrString(
      'Nodes that may restart capture at a time, as a number or a share; 10% unless set.',
      patterns.countOrPercent,
      { minimum: 1, maximum: 2_147_483_647 },
    ),
  ),
  minInterval: optional(duration('The least time between two restarts of capture on a node; 60s unless set.', '1s')),
  pauseOnFailure: optional(Type.Boolean({ description: 'Stop at the first node that fails; true unless set.' })),
  canaryNodes: optional(labelSelector('Nodes that get a new configuration first.')),
});
