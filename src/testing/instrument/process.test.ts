import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'node:http';
import { systemClock } from '../../base/clock.ts';
import { socketHealth } from '../../agent/capture/instrument-probe.ts';
import { until } from '../until.ts';
import { sameDate } from '../faketime.ts';

let dir: string;
beforeAll(() => void (dir = mkdtempSync(join(tmpdir(), 'stand-in-'))));
afterAll(() => rmSync(dir, { recursive: true }));

const file = `
health_check: {unix_socket_path: "@stand-in-test"}
metrics: {features: [application]}
discovery: {instrument: [{open_ports: "8080"}]}
otel_metrics_export: {endpoint: "http://127.0.0.1:1"}
`;

function start(env: Record<string, string>): { child: ChildProcess; output: () => string } {
  let output = '';
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], {
    env: { PATH: process.env.PATH, HOME: dir, ...sameDate(), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout!.on('data', (data: Buffer) => (output += data.toString()));
  return { child, output: () => output };
}

async function end(env: Record<string, string>): Promise<{ code: unknown; output: string }> {
  const { child, output } = start(env);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output: output() };
}

function write(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

test('the stand-in for the instrument ends with 255 and says why when there is no config file', async () => {
  const { code, output } = await end({ OTEL_EBPF_CONFIG_PATH: '/nowhere.yaml' });
  expect(code).toBe(255);
  expect(output).toContain("can't open /nowhere.yaml");
});

test('the stand-in ends with 255 and names the capabilities that are missing', async () => {
  const { code, output } = await end({
    OTEL_EBPF_CONFIG_PATH: write('caps.yaml', file),
    OTEL_EBPF_ENFORCE_SYS_CAPS: 'true',
    STANDIN_MISSING_CAPS: 'CAP_SYS_PTRACE,CAP_BPF',
  });
  expect(code).toBe(255);
  expect(output).toContain("can't start OpenTelemetry eBPF Instrumentation");
  expect(output).toContain('the following capabilities are required: CAP_SYS_PTRACE, CAP_BPF');
});

/** Requests the health answer from the socket. */
function health(name: string): Promise<{ now_unix_ns: number; process_uptime_ns: number }> {
  return new Promise((resolve, reject) => {
    const req = request({ socketPath: `\0${name}`, path: '/healthz', agent: false }, (res) => {
      let text = '';
      res.on('data', (chunk: Buffer) => (text += chunk.toString()));
      res.on('end', () => resolve(JSON.parse(text) as Awaited<ReturnType<typeof health>>));
    });
    req.on('error', reject).end();
  });
}

test('the stand-in answers health requests with its health server’s uptime, and SIGTERM ends it with 0', async () => {
  const suffix = `-${process.pid}`;
  const before = Date.now();
  const { child } = start({
    OTEL_EBPF_CONFIG_PATH: write('ok.yaml', file),
    STANDIN_SOCKET_SUFFIX: suffix,
    STANDIN_HEALTH_MS: '300',
  });
  const answers = socketHealth(`@stand-in-test${suffix}`, systemClock);
  await until(
    'the end of the process, or its answer',
    () => child.exitCode !== null || answers(new AbortController().signal),
  );
  const { now_unix_ns: now, process_uptime_ns: uptime } = await health(`stand-in-test${suffix}`);
  // The process started and read its file well before its health server started.
  expect((now - uptime) / 1e6).toBeGreaterThan(before + 300);
  child.kill('SIGTERM');
  expect(await once(child, 'close')).toEqual([0, null]);
});
