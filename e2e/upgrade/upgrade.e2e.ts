/**
 * Upgrades an earlier release under load to this version and back, by applying their manifests. The operator and the
 * other workloads are upgraded one after the other. Throughout, every answer is right or names what it lacks, and every
 * token is minted.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject } from '../../src/api/meta.ts';
import { until } from '../../src/testing/until.ts';
import { createReport } from '../demo/report.ts';
import { agentEmail, readRepositoryFile, readyPods, startStage, type Stage } from '../demo/stage.ts';
import { ownImages } from '../node/container/images.ts';
import { repository } from '../install/tools.ts';
import { installPlugin } from '../kubectl-svc/plugin.ts';
import { watchAnswers, type Watched } from './watch-answers.ts';
import { releasedVersions, unpackRelease, type Release } from './released.ts';

interface MonitorStatus {
  observedGeneration?: number;
  nodes?: { desired: number; updated: number };
}

interface OperatorPod extends KubeObject {
  spec: { containers: { image: string }[] };
  status: { podIP: string };
}

const nodes = 2;
const head = 'svc-operator:head';

describe.each(releasedVersions)('from %s', (version) => {
  const old = `svc-operator:${version}`;
  let dir: string;
  let release: Release;
  let stage: Stage;
  let before: unknown;
  let watched: Watched;
  /** Samples as a query returned them before the current step of the upgrade, which must not change them. */
  let kept: Awaited<ReturnType<typeof samplesUntil>>;
  const kubectl = (...args: string[]): Promise<string> => stage.cluster.kubectl(args, { timeoutMs: 190_000 });

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'svc-release-'));
    release = await unpackRelease(version, dir);
    const { 'svc-operator': operator, 'svc-minter': minter } = ownImages();
    const images = { ...release.images, [head]: operator!, 'svc-minter:head': minter! };
    const report = createReport({ write: (text) => void process.stderr.write(text) });
    stage = await startStage({ report, nodes, manifest: release.manifest, images });
    await until('both agents', () => stage.query('sum(svc_agent_up)'), {
      good: ({ body }) => body.data?.result[0]?.value[1] === String(nodes),
      timeoutMs: 120_000,
    });
    await kubectl('-n', 'svc-system', 'create', 'serviceaccount', 'upgrade-scraper');
    const [role, account] = ['--clusterrole=svc-metrics-reader', '--serviceaccount=svc-system:upgrade-scraper'];
    await kubectl('create', 'clusterrolebinding', 'upgrade-scraper', role, account);
    before = await written();
    kept = await newestSamples(stage);
    watched = watchAnswers(stage, nodes);
  }, 300_000);

  afterAll(async () => {
    await watched?.stop();
    await stage?.stop();
    await rm(dir, { recursive: true, force: true });
  }, 60_000);

  /** State that an upgrade must not change: the specs of our kinds, and the authority of our certificates. */
  async function written(): Promise<unknown> {
    const list = JSON.parse(await kubectl('get', 'tm,ctp,md', '-A', '-o', 'json')) as { items: KubeObject[] };
    const ca = JSON.parse(await kubectl('-n', 'svc-system', 'get', 'secret', 'svc-ca', '-o', 'json')) as KubeObject;
    const specs = list.items.map(({ kind, metadata, ...rest }) => [
      kind,
      metadata.name,
      metadata.generation,
      (rest as { spec?: unknown }).spec,
    ]);
    return { specs, ca: (ca as { data?: unknown }).data };
  }

  /**
   * Applies a manifest with these images for the operator and for the other workloads, and waits until they all run.
   */
  async function install(manifest: string, operator: string, others: string): Promise<void> {
    const text = (await readFile(manifest, 'utf8'))
      .replace(/(?<=image: )svc-operator:\S+/, operator)
      .replace(/(?<=--svc-image=)\S+/, others);
    await stage.cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { stdin: text });
    const rollout = (workload: string): Promise<string> =>
      kubectl('-n', 'svc-system', 'rollout', 'status', workload, '--timeout=180s');
    await rollout('deployment/svc-controller');
    await untilRendered(operator);
    const workloads = ['daemonset/svc-agent', 'deployment/svc-query'];
    await until(
      'the images that were asked for',
      async () => {
        const path = 'jsonpath={.items[*].spec.template.spec.containers[*].image}';
        return kubectl('-n', 'svc-system', 'get', ...workloads, '-o', path);
      },
      { good: (seen) => seen.split(' ').filter((image) => image === others).length >= 2 },
    );
    await Promise.all(workloads.map(rollout));
    await kubectl('wait', '--for=condition=Ready', '--timeout=180s', '-A', '--all', 'ctp,tm,md');
  }

  /**
   * Waits until the leading operator runs this image and has reconciled agents and query servers. Before that, a
   * workload whose image does not change in this step looks as if its rollout were complete.
   */
  async function untilRendered(image: string): Promise<void> {
    const metrics = async (): Promise<string> => {
      const { api } = stage.cluster;
      const selector = encodeURIComponent('app.kubernetes.io/component=controller');
      const [{ items }, { spec: lease }] = await Promise.all([
        api.request<{ items: OperatorPod[] }>('GET', `/api/v1/namespaces/svc-system/pods?labelSelector=${selector}`),
        api.request<{ spec: { holderIdentity?: string } }>(
          'GET',
          '/apis/coordination.k8s.io/v1/namespaces/svc-system/leases/svc-controller',
        ),
      ]);
      const { holderIdentity = '' } = lease;
      const leader = items.find(
        ({ metadata, spec }) =>
          metadata.deletionTimestamp === undefined &&
          holderIdentity.startsWith(`${metadata.name}_`) &&
          spec.containers.some((container) => container.image === image),
      );
      if (!leader) return '';
      const { status } = await api.request<{ status: { token: string } }>(
        'POST',
        '/api/v1/namespaces/svc-system/serviceaccounts/upgrade-scraper/token',
        { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
      );
      const answer = await fetch(`http://${leader.status.podIP}:8080/metrics`, {
        headers: { authorization: `Bearer ${status.token}` },
      });
      return answer.text();
    };
    await until(`an operator of ${image} to render`, metrics, {
      good: (text) => {
        const results = text.split('\n').filter((line) => line.startsWith('controller_runtime_reconcile_total{'));
        const done = results.filter(
          (line) => /controller="platform"/.test(line) && /result="(success|requeue_after)"/.test(line),
        );
        return done.some((line) => Number(line.split(' ').at(-1)) > 0);
      },
      timeoutMs: 60_000,
    });
  }

  /** Asserts that no sample was lost, no object was rewritten, and no instrument was restarted within its pod. */
  async function unharmed(): Promise<void> {
    expect(await written()).toEqual(before);
    expect(await samplesUntil(stage, kept.until)).toEqual(kept);
    const { items } = JSON.parse(
      await kubectl('-n', 'svc-system', 'get', 'pods', '-l', 'app.kubernetes.io/component=agent', '-o', 'json'),
    ) as { items: { status: { containerStatuses: { name: string; restartCount: number }[] } }[] };
    const restarts = items.flatMap(({ status }) =>
      status.containerStatuses.filter(({ restartCount }) => restartCount > 0).map(({ name }) => name),
    );
    expect(restarts).toEqual([]);
    // The next step is compared with samples that include those of the version that runs now.
    kept = await newestSamples(stage);
  }

  test('this version’s operator runs agents and query servers of the release', async () => {
    await install(join(repository, 'manifests/install.yaml'), head, old);
    await unharmed();
  }, 400_000);

  test('agents and query servers are upgraded to this version', async () => {
    await install(join(repository, 'manifests/install.yaml'), head, head);
    await unharmed();
  }, 400_000);

  test('an edited monitor reaches instruments; no token is refused while the minter’s image changes', async () => {
    const sample = await readRepositoryFile('config/samples/trafficmonitor-checkout.yaml');
    await stage.cluster.kubectl(['apply', '-f', '-'], {
      stdin: sample.replace('- /cart/{id}', '- /cart/{id}\n      - /upgraded/{id}'),
    });
    const image = JSON.stringify({ spec: { image: 'svc-minter:head' } });
    await kubectl('-n', 'platform-agent', 'patch', 'md', 'minter', '--type=merge', '-p', image);
    await until('the new image', () => kubectl('-n', 'platform-agent', 'get', 'deployment/minter', '-o', 'yaml'), {
      good: (text) => text.includes('image: svc-minter:head'),
    });
    await kubectl('-n', 'platform-agent', 'rollout', 'status', 'deployment/minter', '--timeout=180s');
    await until('the monitor acknowledged', () => kubectl('-n', 'shop', 'get', 'tm', 'checkout', '-o', 'json'), {
      good: (text) => {
        const { metadata, status } = JSON.parse(text) as KubeObject & { status: MonitorStatus };
        const { observedGeneration, nodes: of } = status;
        return observedGeneration === metadata.generation && of !== undefined && of.updated === of.desired;
      },
      timeoutMs: 120_000,
    });
    before = await written();
    expect((await stage.mint(agentEmail)).status).toBe(200);
  }, 400_000);

  test.each([
    { which: 'this version’s plugin', name: 'reader-head', programs: () => undefined },
    { which: 'the release’s plugin', name: 'reader-old', programs: () => ({ 'kubectl-svc': release.plugin }) },
  ])('$which reads the query server of this version', async ({ name, programs }) => {
    const plugin = await installPlugin(stage.cluster, programs());
    try {
      await kubectl('-n', 'shop', 'create', 'serviceaccount', name);
      await kubectl(
        'create',
        'clusterrolebinding',
        name,
        '--clusterrole=svc-promql-reader',
        `--serviceaccount=shop:${name}`,
      );
      const token = (await kubectl('-n', 'shop', 'create', 'token', name)).trim();
      const [pod] = await readyPods(stage.cluster, 'svc-system', 'app.kubernetes.io/component=query');
      const direct = [`--server=https://${pod!.ip}:9095`, '--tls-server-name=svc-query.svc-system.svc'];
      const answer = await plugin.svc(['query', 'sum(svc_agent_up)', ...direct, `--token=${token}`]);
      expect(answer).toMatchObject({ code: 0, stdout: expect.stringMatching(new RegExp(`^VALUE\\s+${nodes}\\s*$`)) });
    } finally {
      await plugin.remove();
    }
  });

  test('the release’s operator takes over, and runs agents and query servers of this version', async () => {
    await install(release.manifest, old, head);
    await unharmed();
  }, 400_000);

  test('agents and query servers go back to the release', async () => {
    await install(release.manifest, old, old);
    await unharmed();
  }, 400_000);

  test('throughout, every answer was right or named what it lacked, and every token was minted', async () => {
    const { answers, wrong, degraded, mints, refused } = await watched.stop();
    process.stderr.write(
      `    ${version} → head → ${version}: ${answers} answers, ${degraded} of them degraded, ${mints} tokens\n`,
    );
    expect({ wrong, refused }).toEqual({ wrong: [], refused: [] });
    expect(answers).toBeGreaterThan(100);
    expect(mints).toBeGreaterThan(15);
    // Agents were replaced four times, and an answer during a replacement lacks one of them.
    expect(degraded).toBeLessThan(answers);
  });
});

/**
 * Samples of the shop's requests, old enough to be final. It waits for the first ones: a workload has its first sample
 * some time after everything is Ready, when its instrument has attached and exported.
 */
function newestSamples(stage: Stage): ReturnType<typeof samplesUntil> {
  return until('samples of the shop', () => samplesUntil(stage, Date.now() / 1000 - 10), {
    good: ({ series }) => series.length > 0,
    timeoutMs: 120_000,
  });
}

/** Every sample of the shop's requests in the two minutes up to a time. Units: seconds. */
async function samplesUntil(stage: Stage, time: number): Promise<{ until: number; series: string[] }> {
  const whole = await until(
    'an answer of all nodes',
    () => stage.query('http_server_request_duration_count{k8s_namespace_name="shop"}[2m]', { time: String(time) }),
    {
      good: ({ body }) => body.status === 'success' && body.degraded === false,
    },
  );
  return { until: time, series: whole.body.data!.result.map((one) => JSON.stringify(one)).toSorted() };
}
