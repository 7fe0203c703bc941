import { globSync } from 'node:fs';
import { find, MiB, numbers, root, second, unclaimed, type Claim } from './documented/claims.ts';

/**
 * Numbers that the README, the guides and the references state, each with the line of code that it comes from. A test
 * fails if a number changes in one place only. Measurements are in docs/guides/benchmarks.md, with the commands that
 * repeat them.
 */

const minute = 60 * second;
const hour = 60 * minute;
const reference = (name: string): string => `docs/reference/${name}.md`;
const guide = (name: string): string => `docs/guides/${name}.md`;

/** The longest life of a token that the minter issues. */
const tokenLife: Claim['is'] = ['src/minter/platform/grant.ts', /maxLifeMs = ([\d_]+) \+/];

const nodesOfACluster: Claim['is'] = ['e2e/cluster/main.ts', /nodes: \{ type: 'string', default: '(\d+)' \}/];

const claims: Claim[] = [
  { says: ['README.md', /Node \((\d+) or newer/], is: ['scripts/setup.sh', /"\$major" -ge (\d+)/] },
  { says: ['README.md', /brings its own Node (\d+)/], is: ['package.json', /"node": "(\d+)\./] },
  { says: ['README.md', /and Go (1\.\d+) or newer/], is: ['e2e/cluster/kubernetes/go.mod', /^go (1\.\d+)/m] },
  {
    says: ['README.md', /older Go, from (1\.\d+) on/],
    is: ['e2e/cluster/go-toolchain.ts', /isAtLeast\(version, '(1\.\d+)'\)/],
  },
  { says: ['Makefile', /and (\d+) process nodes/], is: nodesOfACluster },
  { says: ['e2e/cluster/main.ts', /to start \(default (\d+)\)/], is: nodesOfACluster },
  { says: ['README.md', /ports (80, 443, 8080 and 8443)/], is: ['src/agent/settings.ts', /default: '(80,[\d,]+)'/] },
  { says: ['README.md', /svc-operator:(\d+\.\d+\.\d+)/], is: ['package.json', /"version": "(.+)"/] },
  { says: ['README.md', /port-forward deployment\/svc-query (\d+)/], is: ['src/render/names.ts', /\bquery: (\d+)/] },
  { says: ['README.md', /minter :(\d+)/], is: ['src/render/names.ts', /\bminter: (\d+)/] },
  {
    says: [guide('install'), /Kubernetes (1\.\d+) or newer/],
    is: ['config/helm/svc-operator/Chart.yaml', />=(1\.\d+)/],
  },
  {
    says: [guide('autoscaling'), /prometheus-adapter (\d+\.\d+\.\d+)/],
    is: ['e2e/peers/prometheus-adapter/module/go.mod', /prometheus-adapter v(\d+\.\d+\.\d+)/],
  },
  {
    says: [guide('gitops'), /cli-utils (\d+\.\d+\.\d+)/],
    is: ['e2e/peers/kstatus/go.mod', /cli-utils v(\d+\.\d+\.\d+)/],
  },
  {
    says: [guide('gitops'), /gitops-engine (\d+\.\d+\.\d+)/],
    is: ['e2e/peers/argo-cd/go.mod', /gitops-engine v(\d+\.\d+\.\d+)/],
  },
  {
    says: [guide('gitops'), /kustomize-controller (\d+\.\d+\.\d+)/],
    is: ['e2e/peers/flux/module/go.mod', /fluxcd\/kustomize-controller v(\d+\.\d+\.\d+)/],
  },
  { says: [guide('install'), /Leaves live (\d+) days/], is: ['src/net/ca.ts', /days = (\d+)/] },
  {
    says: [guide('install'), /name of its node, for (\d+) days/],
    is: ['src/controllers/agent-certificates/judge.ts', /agentCertificateDays = (\d+)/],
  },
  { says: [guide('install'), /127\.0\.0\.1:(\d+) and/], is: ['src/render/names.ts', /otlpGrpc: (\d+)/] },
  {
    says: [guide('write-a-controller'), /takes no more than (\d+) MiB/],
    is: ['src/kube/transport.ts', /maxAnswerBytes = ([\d *]+)/],
    factor: MiB,
  },
  { says: [guide('upgrade'), /(\d+)% unless set/], is: ['src/render/input.ts', /agentMaxUnavailable: '(\d+)%'/] },
  {
    says: [guide('admission'), /port (\d+) of the operator/],
    is: ['src/controllers/operator-settings.ts', /webhooks', default: '(\d+)'/],
  },
  { says: [guide('admission'), /answers within (\d+) s/], is: ['src/render/admission.ts', /timeoutSeconds: (\d+)/] },
  {
    says: [guide('autoscaling'), /may look at ([\d,]+) samples of each series/],
    is: ['src/promql/plan/metric-expression.ts', /metricSamplesPerSeries = ([\d_]+)/],
  },
  {
    says: [guide('autoscaling'), /it may hold (\d+) million samples/],
    is: ['src/promql/plan/metric-expression.ts', /metricSamples = ([\d_]+)/],
    factor: 1_000_000,
  },
  {
    says: [guide('autoscaling'), /`\[30d\]` is ([\d,]+)/],
    is: ['src/promql/plan/metric-expression.test.ts', /x\[30d\]\)', 'costly', 'about (\d+) samples/],
  },
  {
    says: [guide('autoscaling'), /looked for every (\d+) seconds/],
    is: ['src/query/custom-metrics/rules/watch-rules.ts', /everyMs = ([\d_]+)/],
    factor: second,
  },
  {
    says: [guide('autoscaling'), /Rules are waited for at most (\d+) seconds/],
    is: ['src/query/custom-metrics/rules/watch-rules.ts', /patienceMs = ([\d_]+)/],
    factor: second,
  },
  {
    says: [guide('autoscaling'), /is unknown once (\d+) seconds have passed/],
    is: ['src/query/custom-metrics/rules/watch-rules.ts', /patienceMs = ([\d_]+)/],
    factor: second,
  },
  {
    says: [guide('autoscaling'), /or (\d+) seconds after they were read/],
    is: ['src/query/custom-metrics/rules/watch-rules.ts', /patienceMs = ([\d_]+)/],
    factor: second,
  },
  {
    says: [guide('autoscaling'), /for at most (\d+) minutes after its start/],
    is: ['src/query/custom-metrics/server.ts', /patienceMs = ([\d_]+)/],
    factor: 60 * second,
  },
  {
    says: [guide('autoscaling'), /of at most (\d+) MiB, within `--agent-timeout`/],
    is: ['src/query/custom-metrics/fallback/second-adapter.ts', /maxBytes = ([\d *]+)/],
    factor: MiB,
  },
  {
    says: [guide('kubectl-svc'), /An answer beyond (\d+) MiB is refused/],
    is: ['src/bin/kubectl-svc/connect/https-server.ts', /defaultMaxBytes = ([\d *]+)/],
    factor: MiB,
  },
  {
    says: [guide('kubectl-svc'), /over `--window` \((\d+) minutes\)/],
    is: ['src/bin/kubectl-svc/top/top-command.ts', /'--window <duration>', .*, '(\d+)m'/],
  },
  {
    says: [guide('kubectl-svc'), /every `--interval` \((\d+) seconds\)/],
    is: ['src/bin/kubectl-svc/top/top-command.ts', /'--interval <duration>', .*, '(\d+)s'/],
  },
  {
    says: [guide('promql-library'), /\| ([\d,]+) samples of 16 bytes/],
    is: ['src/promql/engine.ts', /defaultMaxSamples = ([\d_]+)/],
  },
  {
    says: [guide('promql-library'), /needs `monotonic` \| ([\d,]+)/],
    is: ['src/promql/engine.ts', /defaultTimeoutMs = ([\d_]+)/],
  },
  {
    says: [guide('promql-library'), /`lookbackDeltaMs` of the engine or the query \| ([\d,]+)/],
    is: ['src/promql/engine.ts', /defaultLookbackMs = ([\d_]+)/],
  },
  {
    says: [guide('write-a-controller'), /back-off \((\d+) ms doubling/],
    is: ['src/runtime/backoff.ts', /return Math\.min\((\d+) \* 2 \*\* Math\.min\([^)]*\) - 1, 30\), longestBackoffMs/],
  },
  {
    says: [guide('write-a-controller'), /doubling to (\d+) minutes/],
    is: ['src/runtime/backoff.ts', /longestBackoffMs = ([\d_]+)/],
    factor: minute,
  },
  {
    says: [guide('api-versions'), /beyond (\d+) MiB it is refused/],
    is: ['src/net/webhook/handler.ts', /conversionLimits = \{ maxBytes: ([\d *]+),/],
    factor: MiB,
  },
  {
    says: [guide('admission'), /one address sends holds (\d+) MiB at most/],
    is: ['src/net/webhook/handler.ts', /conversionLimits = \{ maxBytes: ([\d *]+),/],
    factor: MiB,
  },
  {
    says: [guide('api-versions'), /observedGeneration: (-\d+)/],
    is: ['src/api/schema/common.ts', /minimum: (-\d+)/],
  },
  {
    says: [guide('capture'), /among ([\d,]+) monitors/],
    is: ['bench/capture.ts', /monitors: 200, nodes: 100 \} : \{ monitors: ([\d_]+)/],
  },
  {
    says: [guide('capture'), /monitors on ([\d,]+) nodes/],
    is: ['bench/capture.ts', /: \{ monitors: [\d_]+, nodes: ([\d_]+)/],
  },
  { says: ['README.md', /(\d+)-hour, repository-scoped/], is: tokenLife, factor: hour },
  {
    says: ['README.md', /does not answer within (\d+) s/],
    is: ['e2e/cluster/download.ts', /answerMs = ([\d_]+)/],
    factor: second,
  },
  { says: ['CONTRIBUTING.md', /and (\d+) days ahead/], is: ['scripts/test-calendar.ts', /'\+40d', '\+(\d+)d'/] },
  {
    says: ['CONTRIBUTING.md', /or after (\d+) minutes, it is skipped/],
    is: ['scripts/test-all.ts', /lastStartOfNodeMs = (\d+) \* 60_000/],
  },
  {
    says: [guide('autoscaling'), /\(one every (\d+) s;/],
    is: ['src/promql/plan/metric-expression.ts', /sampleIntervalMs = ([\d_]+)/],
    factor: second,
  },
  {
    says: [guide('promql-library'), /samples of (\d+) bytes/],
    is: ['src/promql/eval/budget.ts', /sampleBytes = (\d+)/],
  },
  { says: [guide('upgrade'), /it ends, (\d+) days after/], is: ['src/net/ca.ts', /days = (\d+)/] },
  ...[/five times (\d+) s/, /for twice (\d+) s/].map((sentence): Claim => ({
    says: [guide('write-a-controller'), sentence],
    is: ['src/runtime/watch/reflector.ts', /inactivityMs = ([\d_]+)/],
    factor: second,
  })),
  {
    says: [reference('listeners'), /request line and header fields \| (\d+) s/],
    is: ['src/net/http/limits.ts', /headersMs: ([\d_]+)/],
    factor: second,
  },
  {
    says: [reference('listeners'), /Whole request \| (\d+) s/],
    is: ['src/net/http/limits.ts', /requestMs: ([\d_]+)/],
    factor: second,
  },
  {
    says: [reference('listeners'), /Whole request \| \d+ s \(minter: (\d+) s/],
    is: ['src/minter/http/server.ts', /requestMs: ([\d_]+)/],
    factor: second,
  },
  {
    says: [reference('listeners'), /without a request \| (\d+) s/],
    is: ['src/net/http/limits.ts', /keepAliveMs: ([\d_]+)/],
    factor: second,
  },
  {
    says: [reference('listeners'), /without a request \| \d+ s \(minter: (\d+) s/],
    is: ['src/minter/http/server.ts', /keepAliveMs: ([\d_]+)/],
    factor: second,
  },
  {
    says: [reference('listeners'), /caller does not read \| (\d+) s/],
    is: ['src/net/http/limits.ts', /stalledMs: ([\d_]+)/],
    factor: second,
  },
  {
    says: [reference('listeners'), /dropped for (\d+) s/],
    is: ['src/net/http/limits.ts', /lingerMs: ([\d_]+)/],
    factor: second,
  },
  {
    says: [reference('listeners'), /(\d+) seconds at most/],
    is: ['src/net/drain.ts', /defaultLatestMs = ([\d_]+)/],
    factor: second,
  },
  {
    says: [reference('listeners'), /within the (\d+) seconds of/],
    is: ['src/render/agent/daemonset.ts', /terminationGracePeriodSeconds: (\d+)/],
  },
  {
    says: [reference('streams'), /and at least every (\d+) s/],
    is: ['src/capture/session.ts', /heartbeatSeconds = (\d+)/],
  },
  {
    says: [reference('streams'), /Decisions are kept for (\d+) s/],
    is: ['src/net/auth/token-auth.ts', /cacheMs = ([\d_]+)/],
    factor: second,
  },
  {
    says: [reference('streams'), /exactly, within (\d+) MiB/],
    is: ['src/query/stream/read-history.ts', /newestBytes = ([\d *]+)/],
    factor: MiB,
  },
  {
    says: [reference('streams'), /10,000 and (\d+) MiB in all/],
    is: ['src/query/stream/relay.ts', /orderBytes = ([\d *]+)/],
    factor: MiB,
  },
  {
    says: [reference('streams'), /up to (\d+) s apart/],
    is: ['src/query/stream/follow-agent.ts', /longestDelayMs = ([\d_]+)/],
    factor: second,
  },
  {
    says: [reference('streams'), /connection lasts for (\d+) s/],
    is: ['src/query/stream/follow-agent.ts', /longestDelayMs = ([\d_]+)/],
    factor: second,
  },
  {
    says: [reference('streams'), /silent for (\d+) s/],
    is: ['src/query/stream/follow-agent.ts', /silenceMs = ([\d_]+)/],
    factor: second,
  },
  {
    says: [reference('streams'), /does not fit into (\d+) MiB for a reader/],
    is: ['src/query/stream/relay.ts', /queueBytes = ([\d *]+)/],
    factor: MiB,
  },
  {
    says: [reference('streams'), /back-off up to (\d+) s/],
    is: ['src/agent/export/exporter.ts', /lastBackoffMs = ([\d_]+)/],
    factor: second,
  },
  {
    says: [reference('streams'), /what waits for (\d+) s more/],
    is: ['src/agent/export/exports.ts', /farewellMs = ([\d_]+)/],
    factor: second,
  },
  {
    says: [reference('streams'), /at most (\d+) MiB/],
    is: ['src/capture/capture-config.ts', /SpanRing = (\d+) \* 1024 \*\* 2/],
  },
  {
    says: [reference('streams'), /after 0\.(\d+) s/],
    is: ['src/query/stream/follow-agent.ts', /firstDelayMs = (\d+)/],
    factor: 10,
  },
  {
    says: [reference('streams'), /a line above (\d+) MiB/],
    is: ['src/stream/line-splitter.ts', /maxLineLength = ([\d *]+)/],
    factor: MiB,
  },
  {
    says: [reference('query-execution'), /those of one user may have (\d+) MiB together/],
    is: ['src/agent/partial/admission.ts', /defaultWaitingBytes = ([\d *]+)/],
    factor: MiB,
  },
  {
    says: [reference('query-execution'), /those of all users (\d+) MiB/],
    is: ['src/agent/partial/admission.ts', /all: (\d+) \* limits\.waitingBytes/],
    factor: 1 / 16,
  },
  {
    says: [reference('query-execution'), /by a guess \((\d+) bytes a/],
    is: ['src/query/fanout/dearness.ts', /pushed = (\d+) \* steps/],
  },
  {
    says: [reference('query-execution'), /a step, ([\d.]+) bytes/],
    is: ['src/query/fanout/dearness.ts', /bytesPerSample: ([\d.]+)/],
  },
  {
    says: [reference('query-execution'), /a sample, (\d+) s between/],
    is: ['src/query/fanout/dearness.ts', /intervalMs: ([\d_]+)/],
    factor: second,
  },
  { says: [reference('query-execution'), /up to 1(\.75) times/], is: ['src/base/turns/gate.ts', /beyond \* 0(\.75)/] },
  {
    says: [reference('query-execution'), /less than (\d+) ms go first/],
    is: ['src/base/turns/fair-turns.ts', /shortMs \?\? (\d+)/],
  },
  {
    says: [reference('query-execution'), /max-samples`, (\d+) bytes each/],
    is: ['src/promql/eval/budget.ts', /sampleBytes = (\d+)/],
  },
  {
    says: [reference('query-execution'), /result counts as (\d+) samples/],
    is: ['src/promql/eval/columns.ts', /bareColumn = (\d+)/],
  },
  {
    says: [reference('query-execution'), /form has at most ([\d.]+) MiB/],
    is: ['src/query/api/params.ts', /maxFormBytes = ([\d_]+)/],
    factor: MiB,
  },
  {
    says: [reference('query-execution'), /may wait with theirs: (\d+) MiB/],
    is: ['src/query/api/request-body.ts', /all: ([\d *]+)/],
    factor: MiB,
  },
  {
    says: [reference('query-execution'), /in all and (\d+) MiB of one user/],
    is: ['src/query/api/request-body.ts', /ofOne: ([\d *]+)/],
    factor: MiB,
  },
  {
    says: [reference('query-execution'), /a request of remote\s+read (\d+) MiB/],
    is: ['src/query/routes/remote-read.ts', /maxBodyBytes = ([\d *]+)/],
    factor: MiB,
  },
  {
    says: [reference('query-execution'), /takes at most ([\d,]+)\s+queries/],
    is: ['src/tsdb/remote-read/read-request.ts', /queries: ([\d_]+)/],
  },
  {
    says: [reference('query-execution'), /request more than (\d+) MiB/],
    is: ['src/query/fanout/readers/index-reader.ts', /maxRequestBytes = ([\d *]+)/],
    factor: MiB,
  },
  {
    says: [reference('query-execution'), /as SAMPLES (\d+) million/],
    is: ['src/tsdb/remote-read/server.ts', /defaultReadSamples = ([\d_]+)/],
    factor: 1_000_000,
  },
  {
    says: [reference('query-execution'), /memory limit \((\d+) GiB and/],
    is: ['src/render/query-deployment.ts', /limits: \{ memory: '(\d+)Gi'/],
    factor: 2,
  },
  {
    says: [reference('query-execution'), /GiB and (\d+) MiB as/],
    is: ['src/render/agent/containers.ts', /memory: '256Mi' \}, limits: \{ memory: '(\d+)Gi'/],
    factor: 2 / 1024,
  },
  {
    says: [reference('query-execution'), /may hold (\d+) MiB\s+beside/],
    is: ['src/base/memory-pool.ts', /freeBytes = (\d+) \* 1024 \*\* 2/],
  },
  {
    says: [reference('query-execution'), /hold too \((\d+) million/],
    is: ['src/agent/partial/partial-handler.ts', /maxSamples: ([\d_]+)/],
    factor: 1_000_000,
  },
  {
    says: [reference('query-execution'), /million samples, (\d+) MiB/],
    is: ['src/agent/partial/partial-handler.ts', /maxBytes: ([\d *]+)/],
    factor: MiB,
  },
  {
    says: [reference('query-execution'), /128 MiB, (\d+) s/],
    is: ['src/agent/partial/partial-handler.ts', /deadlineMs: ([\d_]+)/],
    factor: second,
  },
  {
    says: [reference('query-execution'), /hold too \((\d+) MiB/],
    is: ['src/agent/partial/index-handler.ts', /maxBytes: ([\d *]+)/],
    factor: MiB,
  },
  {
    says: [reference('query-execution'), /too \(64 MiB, (\d+) s/],
    is: ['src/agent/partial/index-handler.ts', /deadlineMs: ([\d_]+)/],
    factor: second,
  },
  { says: [reference('http-api'), /Limits: (\d+) queries/], is: ['src/render/query-options.ts', /default: '(20)'/] },
  {
    says: [reference('http-api'), /(\d+) minutes, 50 million/],
    is: ['src/render/query-options.ts', /one query may take, at least 1s', default: '(\d+)m'/],
  },
  {
    says: [reference('http-api'), /minutes, (\d+) million samples/],
    is: ['src/render/query-options.ts', /hold in memory', default: '(\d+)'/],
    factor: 1_000_000,
  },
  {
    says: [reference('http-api'), /bodies up to (\d+) MiB/],
    is: ['src/query/routes/remote-read.ts', /maxBodyBytes = ([\d *]+)/],
    factor: MiB,
  },
  { says: [reference('http-api'), /the newest (\d+) spans/], is: ['ui/state/live-feed.ts', /mostRows = (\d+)/] },
  { says: [reference('http-api'), /by more than (\d+) %/], is: ['src/query/topology/assemble.ts', /noise = 0\.0(\d)/] },
  {
    says: [reference('http-api'), /\(default (\d+)h\)/],
    is: ['src/query/routes/page-handlers.ts', /hourMs = ([\d_]+)/],
    factor: hour,
  },
  {
    says: [reference('http-api'), /long-term-after` \((\d+)h;/],
    is: ['src/render/query-options.ts', /the agents keep',\s+default: '(\d+)h'/],
  },
  {
    says: [reference('http-api'), /also over (\d+) agents/],
    is: ['e2e/page/large.e2e.ts', /nodes = Array\.from\(\{ length: (\d+)/],
  },
  {
    says: [reference('http-api'), /allows \((\d+) bytes each/],
    is: ['src/query/fanout/readers/index-reader.ts', /takeSamples\(budget, bytes \/ (\d+)/],
  },
];

test.each(claims.map((claim) => [claim.says[0], String(claim.says[1]), claim] as const))(
  '%s states what the code says: %s',
  (_document, _sentence, { says, is, factor = 1 }) => {
    const stated = numbers(find(says));
    expect(numbers(find(is))).toEqual(stated.map((n) => n * factor));
  },
);

/** Documents in which every quantity has to be a claim above. benchmarks.md has a test of its own. */
const complete = [
  'README.md',
  'CONTRIBUTING.md',
  ...['http-api', 'listeners', 'query-execution', 'streams'].map(reference),
  ...globSync('docs/guides/*.md', { cwd: root }),
].filter((file) => !file.endsWith('benchmarks.md'));
test.each(complete)('every quantity in the text of %s is one of the claims', (file) => {
  expect(
    unclaimed(
      file,
      claims.map(({ says }) => says),
    ),
  ).toEqual([]);
});

test('the glob finds the documents whose quantities are checked', () => expect(complete.length).toBeGreaterThan(13));
