import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { adoptContainers } from './adopt.ts';
import { lastWords } from './container/log.ts';
import { startProcess } from './container/process.ts';
import type { ContainerProcess, Exit, ProcessSpec } from './container/process.ts';
import { createLauncher } from './container/launcher.ts';
import type { Launcher } from './container/launcher.ts';
import type { NodeContext } from './node-context.ts';
import { initDone, over, podPhase, podStatus } from './pod-status.ts';
import type { ContainerRecord } from './pod-status.ts';
import { startProbe } from './container/probe-loop.ts';
import { createStatusWriter } from './status-writer.ts';
import { createTokenSource } from './volumes/tokens.ts';
import { keyOf, WaitingError } from './types.ts';
import type { Pod, Probe } from './types.ts';
import { materialise } from './volumes/volumes.ts';

/** One container of a pod with its process, back-off and probes. */
interface Managed extends ContainerRecord {
  process?: ContainerProcess;
  backoffMs: number;
  stopProbes: (() => void)[];
}

/**
 * One pod on a process node, which runs containers as processes: brings the pod to what its spec says, and keeps it
 * there.
 *
 * Flow: every event (spec, source of a volume, end of a process, probe, timer) requests a round. Rounds run one after
 * the other; each looks at the whole pod and does what is due, then writes the status.
 * Guarantees: a pod marked for deletion is removed from the API server only when none of its processes lives.
 */
export class PodWorker {
  readonly #node: NodeContext;
  readonly #containers: Managed[];
  readonly #writer;
  readonly #launcher: Launcher;
  readonly #dir: string;
  readonly #podIP: string;
  readonly #startTime: string;
  #pod: Pod;
  #again = false;
  #round: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  #killAt: number | undefined;
  #gone = false;
  #closed = false;
  #lastProblem = '';

  constructor(node: NodeContext, pod: Pod) {
    this.#node = node;
    this.#pod = pod;
    this.#dir = join(node.podsDir, pod.metadata.uid);
    this.#podIP = pod.spec.hostNetwork ? node.nodeIP : node.addresses.take(pod.metadata.uid);
    this.#startTime = pod.status?.startTime ?? new Date().toISOString();
    this.#launcher = createLauncher(node, this.#dir, this.#podIP, createTokenSource(node.api));
    this.#writer = createStatusWriter(node.api, pod, (error) => node.log(`status of ${keyOf(pod)}`, error));
    const records = adoptContainers(pod, new Date().toISOString());
    this.#containers = records.map((record) => ({ ...record, backoffMs: 0, stopProbes: [] }));
  }

  get podIP(): string {
    return this.#podIP;
  }

  get pod(): Pod {
    return this.#pod;
  }

  /** Takes a newer version of the same pod. */
  update(pod: Pod): void {
    this.#pod = pod;
    this.#writer.seen(pod.status);
    this.poke();
  }

  /** The object is gone from the API server: kills what still runs, and forgets the pod. */
  remove(): void {
    this.#gone = true;
    this.poke();
  }

  /** Requests a round. */
  poke(): void {
    this.#again = true;
    this.#round ??= this.#rounds().finally(() => (this.#round = undefined));
  }

  /** The process of a container, if one runs. */
  process(container: string): ContainerProcess | undefined {
    return this.#containers.find((c) => c.spec.name === container && c.running)?.process;
  }

  /** Path of the log of the current (or latest) run, or of the one before. */
  logPath(container: string, previous: boolean): string | undefined {
    const found = this.#containers.find((c) => c.spec.name === container);
    if (!found || found.restarts - (previous ? 1 : 0) < 0) return undefined;
    return this.#logFile(found, found.restarts - (previous ? 1 : 0));
  }

  /** The live log of a container, to follow it. */
  liveLog(container: string): ContainerProcess['log'] | undefined {
    return this.#containers.find((c) => c.spec.name === container)?.process?.log;
  }

  /** Stops every process, SIGTERM first, and leaves the pod as it is on the API server. */
  async halt(graceMs: number): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#writer.stop();
    const running = this.#containers.filter((c) => c.running && c.process);
    for (const c of running) c.process?.signal('SIGTERM');
    const kill = setTimeout(() => {
      for (const c of running) c.process?.signal('SIGKILL', true);
    }, graceMs);
    await Promise.all(running.flatMap((c) => (c.process ? [c.process.exit] : [])));
    clearTimeout(kill);
  }

  async #rounds(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false;
      try {
        await this.#sync();
      } catch (error) {
        this.#node.log(`pod ${keyOf(this.#pod)}`, error);
        this.#wakeIn(1000);
      }
    }
  }

  async #sync(): Promise<void> {
    if (this.#gone || this.#pod.metadata.deletionTimestamp !== undefined) return this.#terminate();
    const phase = podPhase(this.#containers);
    if (phase === 'Succeeded' || phase === 'Failed') return this.#publish();
    if (await this.#mountVolumes()) await this.#startWhatIsDue();
    this.#publish();
  }

  async #mountVolumes(): Promise<boolean> {
    try {
      await mkdir(this.#dir, { recursive: true });
      await materialise(this.#pod, this.#launcher.volumes(this.#pod));
      const rotation = this.#launcher.tokens.nextRotationMs();
      if (rotation !== undefined) this.#wakeIn(Math.min(rotation, 60_000) + 50);
      return true;
    } catch (error) {
      this.#problem('FailedMount', error);
      for (const c of this.#containers) {
        if (!c.running && !c.terminated) c.waiting = { reason: 'ContainerCreating', message: text(error) };
      }
      this.#wakeIn(error instanceof WaitingError ? 1000 : 300);
      return false;
    }
  }

  async #startWhatIsDue(): Promise<void> {
    for (const c of this.#containers.filter((x) => x.kind !== 'main')) {
      if (initDone(c) && c.kind === 'init') continue;
      if (!c.running) await this.#start(c);
      if (!initDone(c)) return;
    }
    for (const c of this.#containers) if (c.kind === 'main' && !c.running && !over(c)) await this.#start(c);
  }

  async #start(c: Managed): Promise<void> {
    const ended = c.terminated ? Date.parse(c.terminated.finishedAt) : undefined;
    if (ended !== undefined && c.backoffMs > 0 && Date.now() < ended + c.backoffMs) {
      const seconds = c.backoffMs / 1000;
      c.waiting = {
        reason: 'CrashLoopBackOff',
        message: `back-off ${seconds}s restarting failed container=${c.spec.name} pod=${keyOf(this.#pod)}`,
      };
      return this.#wakeIn(ended + c.backoffMs - Date.now());
    }
    let spec: ProcessSpec;
    try {
      spec = await this.#launcher.prepare(this.#pod, c.spec);
    } catch (error) {
      const reason = error instanceof WaitingError ? error.reason : 'CreateContainerError';
      this.#problem('Failed', error);
      c.waiting = { reason, message: text(error) };
      return this.#wakeIn(1000);
    }
    if (c.terminated) {
      c.restarts++;
      const { initialMs, maxMs } = this.#node.backoff;
      c.backoffMs = c.backoffMs === 0 ? initialMs : Math.min(maxMs, c.backoffMs * 2);
      void rm(this.#logFile(c, c.restarts - 2), { force: true });
    }
    this.#run(c, spec);
  }

  #run(c: Managed, spec: ProcessSpec): void {
    const process = startProcess(spec, this.#logFile(c, c.restarts), this.#node.logCapBytes);
    const containerID = `process://${this.#pod.metadata.uid}/${c.spec.name}/${c.restarts}`;
    c.process = process;
    c.running = { startedAt: process.startedAt.toISOString(), containerID };
    delete c.waiting;
    c.willRun = true;
    c.started = c.spec.startupProbe === undefined;
    c.ready = c.started && c.spec.readinessProbe === undefined;
    this.#node.event(this.#pod, 'Normal', 'Started', `Started container ${c.spec.name}`);
    this.#startProbes(c, process);
    void process.exit.then((exit) => this.#ended(c, process, exit));
  }

  #ended(c: Managed, process: ContainerProcess, exit: Exit): void {
    for (const stop of c.stopProbes.splice(0)) stop();
    const policy = this.#pod.spec.restartPolicy ?? 'Always';
    const failed = exit.exitCode !== 0;
    const fallback = failed && c.spec.terminationMessagePolicy === 'FallbackToLogsOnError';
    const message = exit.startError ?? (fallback ? lastWords(process.log.read()) : undefined);
    c.terminated = {
      exitCode: exit.exitCode,
      reason: exit.startError ? 'StartError' : failed ? 'Error' : 'Completed',
      ...(message === undefined ? {} : { message }),
      startedAt: process.startedAt.toISOString(),
      finishedAt: exit.finishedAt.toISOString(),
      ...(c.running ? { containerID: c.running.containerID } : {}),
    };
    delete c.running;
    c.started = c.kind === 'sidecar' && c.started;
    c.ready = false;
    c.willRun =
      c.kind === 'init'
        ? failed && policy !== 'Never'
        : c.kind === 'sidecar' || policy === 'Always' || (failed && policy === 'OnFailure');
    if (exit.finishedAt.getTime() - process.startedAt.getTime() >= this.#node.backoff.resetMs) c.backoffMs = 0;
    if (c.willRun && c.backoffMs > 0) {
      this.#node.event(this.#pod, 'Warning', 'BackOff', `Back-off restarting failed container ${c.spec.name}`);
    }
    this.poke();
  }

  #startProbes(c: Managed, process: ContainerProcess): void {
    const target = this.#launcher.probeTarget(this.#pod, c.spec, process.command);
    const killed = (what: string, probe: Probe, message: string | undefined): void => {
      this.#node.event(
        this.#pod,
        'Normal',
        'Killing',
        `Container ${c.spec.name} failed ${what} probe, will be restarted: ${message ?? ''}`,
      );
      this.#stop(process, probe.terminationGracePeriodSeconds ?? this.#grace());
    };
    const watchOver = (
      what: string,
      probe: Probe,
      verdict: (ok: boolean, why?: string) => void,
      options: { eager?: boolean; firstMs?: number } = {},
    ): void => {
      const attemptFailed = (message: string): void =>
        this.#node.event(this.#pod, 'Warning', 'Unhealthy', `${what} probe failed: ${message}`);
      c.stopProbes.push(startProbe(probe, target, { verdict, attemptFailed }, options));
    };
    const whenStarted = (): void => {
      const { livenessProbe: live, readinessProbe: ready } = c.spec;
      if (live) {
        // One period later than a kubelet: many processes that start together on a small machine are slow, not dead.
        const firstMs = ((live.initialDelaySeconds ?? 0) + (live.periodSeconds ?? 10)) * 1000;
        watchOver('Liveness', live, (ok, why) => void (ok || killed('liveness', live, why)), { firstMs });
      }
      if (!ready) return;
      const setReady = (ok: boolean): void => {
        c.ready = ok;
        this.poke();
      };
      watchOver('Readiness', ready, setReady, { eager: true });
    };
    const startup = c.spec.startupProbe;
    if (!startup) return whenStarted();
    watchOver('Startup', startup, (ok, why) => {
      if (!ok) return killed('startup', startup, why);
      // A startup probe that has succeeded is not repeated in this run of the container.
      for (const stop of c.stopProbes.splice(0)) stop();
      c.started = true;
      c.ready = c.spec.readinessProbe === undefined;
      whenStarted();
      this.poke();
    });
  }

  #stop(process: ContainerProcess, graceSeconds: number): void {
    process.signal('SIGTERM');
    const timer = setTimeout(() => process.signal('SIGKILL', true), graceSeconds * 1000);
    void process.exit.then(() => clearTimeout(timer));
  }

  async #terminate(): Promise<void> {
    const grace = this.#gone ? 0 : (this.#pod.metadata.deletionGracePeriodSeconds ?? this.#grace());
    const running = this.#containers.filter((c) => c.running && c.process);
    const first = this.#killAt === undefined;
    // A second delete may shorten the grace period, never lengthen it.
    this.#killAt = Math.min(this.#killAt ?? Infinity, Date.now() + grace * 1000);
    for (const c of running) {
      for (const stop of c.stopProbes.splice(0)) stop();
      c.ready = false;
      if (first) c.process?.signal('SIGTERM');
      if (Date.now() >= this.#killAt) c.process?.signal('SIGKILL', true);
    }
    if (running.length > 0) {
      this.#publish();
      return this.#wakeIn(Math.max(0, this.#killAt - Date.now()));
    }
    for (const c of this.#containers) c.willRun = false;
    if (!this.#gone) {
      this.#publish();
      await this.#writer.flushed();
      await this.#node.deletePod(this.#pod);
    }
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#writer.stop();
    this.#node.addresses.giveBack(this.#pod.metadata.uid);
    await rm(this.#dir, { recursive: true, force: true });
    this.#node.forget(this.#pod.metadata.uid);
  }

  #publish(): void {
    if (this.#gone) return;
    const facts = { podIP: this.#podIP, hostIP: this.#node.nodeIP, startTime: this.#startTime };
    this.#writer.write(podStatus(this.#pod, this.#containers, { ...facts, now: new Date().toISOString() }));
  }

  #problem(reason: string, error: unknown): void {
    const message = text(error);
    if (message === this.#lastProblem) return;
    this.#lastProblem = message;
    this.#node.event(this.#pod, 'Warning', reason, message);
  }

  #wakeIn(ms: number): void {
    const at = Date.now() + ms;
    if (at >= this.#timerAt && this.#timerAt > Date.now()) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.poke(), ms);
  }

  #grace(): number {
    return this.#pod.spec.terminationGracePeriodSeconds ?? 30;
  }

  #logFile(c: Managed, attempt: number): string {
    return join(this.#dir, 'logs', `${c.spec.name}-${attempt}.log`);
  }
}

const text = (error: unknown): string => (error instanceof Error ? error.message : String(error));
