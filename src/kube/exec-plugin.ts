import { spawn, type ChildProcess } from 'node:child_process';
import type { Clock } from '../base/clock.ts';
import { errorText } from '../base/errors.ts';
import { isObject } from '../base/text/texts.ts';

/** The section `exec` of a kubeconfig user, as far as it is used. */
export interface ExecSection {
  apiVersion?: string;
  command: string;
  args?: string[] | null;
  env?: { name: string; value: string }[] | null;
  /** Whether the plugin may read from the terminal. */
  interactiveMode?: 'Never' | 'IfAvailable' | 'Always';
  /** How to install the command. */
  installHint?: string;
}

/** What a plugin answered: a token, a certificate with its key (PEM), or both. */
export interface PluginCredential {
  token?: string | undefined;
  certificate?: string | undefined;
  key?: string | undefined;
}

/** A credential that has expired when it arrives is asked for again after this long, not at every call. Units: ms. */
const minAgeMs = 1_000;
/** How long a run may take where no person attends it. Units: ms. */
const unattendedMs = 300_000;
/** The longest answer that is read; a token or certificate has a few thousand characters. */
const maxAnswerLength = 1_048_576;

/**
 * Runs the program that a kubeconfig names as the source of its credential, such as `aws` or `kubelogin`, and keeps the
 * credential until it expires.
 * Guarantees: one run at a time, which all callers share. Standard error is ours, so a person sees what to do; at a
 * terminal standard input is ours as well, unless `interactiveMode` is `Never`.
 * Caveats: at a terminal a run has no time limit of its own, because a person may have to log in. Elsewhere it is ended
 * after five minutes.
 * Source: client-go `plugin/pkg/client/auth/exec`.
 */
export class ExecPlugin {
  readonly #clock: Clock;
  /** The section that the credential belongs to, as text. */
  #section = '';
  #credential: Promise<PluginCredential> | undefined;
  /** Wall time, ms. */
  #expiresAt = Infinity;
  #child: ChildProcess | undefined;
  /** When the last credential arrived. Monotonic ms. */
  obtainedAt = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the program is running, and a person at a terminal sees what it writes and may answer it. */
  get asksPerson(): boolean {
    return this.#child !== undefined && process.stderr.isTTY === true;
  }

  get expired(): boolean {
    return this.#clock.now() >= this.#expiresAt && this.#clock.monotonic() - this.obtainedAt >= minAgeMs;
  }

  /** The credential of this section. Errors: the program cannot be run, fails, or answers without a credential. */
  credential(section: ExecSection): Promise<PluginCredential> {
    const text = JSON.stringify(section);
    if (text !== this.#section || this.expired) this.stop();
    this.#section = text;
    if (this.#credential) return this.#credential;
    const credential = this.#ask(section);
    this.#credential = credential;
    credential.catch(() => {
      if (this.#credential === credential) this.#credential = undefined;
    });
    return credential;
  }

  /** The server refused the credential: the next call runs the program, unless it runs already. */
  refused(): void {
    if (!this.#child) this.stop();
  }

  /** Forgets the credential and ends the program if it runs. */
  stop(): void {
    this.#credential = undefined;
    this.#expiresAt = Infinity;
    this.#child?.kill();
    this.#child = undefined;
  }

  async #ask(section: ExecSection): Promise<PluginCredential> {
    try {
      const { expiresAt, ...credential } = read(await this.#run(section));
      this.#expiresAt = expiresAt;
      this.obtainedAt = this.#clock.monotonic();
      return credential;
    } catch (cause) {
      const hint = (cause as { code?: unknown }).code === 'ENOENT' && section.installHint;
      throw new Error(`${section.command}: ${errorText(cause)}${hint ? `; ${hint}` : ''}`, { cause });
    }
  }

  /** Runs the program and returns its output. */
  #run({ apiVersion, command, args, env, interactiveMode }: ExecSection): Promise<string> {
    const terminal = process.stdin.isTTY === true;
    if (interactiveMode === 'Always' && !terminal) throw new Error('it reads from a terminal, and there is none');
    const interactive = terminal && interactiveMode !== 'Never';
    const info = { apiVersion, kind: 'ExecCredential', spec: { interactive } };
    return new Promise((resolve, reject) => {
      const child = spawn(command, args ?? [], {
        env: {
          ...process.env,
          ...Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])),
          KUBERNETES_EXEC_INFO: JSON.stringify(info),
        },
        stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
      });
      this.#child = child;
      let output = '';
      child.stdout.setEncoding('utf8').on('data', (part: string) => {
        output += part;
        if (output.length > maxAnswerLength) giveUp(`the answer is longer than ${maxAnswerLength} characters`);
      });
      let cancelTimer = (): void => {};
      const ended = (): void => {
        cancelTimer();
        if (this.#child === child) this.#child = undefined;
      };
      const giveUp = (reason: string): void => {
        ended();
        child.kill('SIGKILL');
        // A program that it started may hold the pipe open.
        child.stdout.destroy();
        reject(new Error(reason));
      };
      const late = (): void => giveUp(`no answer within ${unattendedMs / 1_000} s`);
      if (!this.asksPerson) cancelTimer = this.#clock.setTimeout(late, unattendedMs, { unref: true });
      child.once('error', (error) => {
        ended();
        reject(error);
      });
      child.once('close', (code, signal) => {
        ended();
        if (code === 0) resolve(output);
        else reject(new Error(`ended with ${signal ?? `exit code ${code}`}`));
      });
    });
  }
}

/** Reads an `ExecCredential`. The messages do not quote it, because it holds secrets. `expiresAt`: wall time, ms. */
function read(text: string): PluginCredential & { expiresAt: number } {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Error('the answer is not JSON');
  }
  const status = isObject(answer) && isObject(answer['status']) ? answer['status'] : {};
  const member = (name: string): string | undefined =>
    typeof status[name] === 'string' && status[name] !== '' ? status[name] : undefined;
  const [token, certificate, key] = [member('token'), member('clientCertificateData'), member('clientKeyData')];
  if ((certificate === undefined) !== (key === undefined) || (token === undefined && key === undefined)) {
    throw new Error('the answer has neither a token nor a certificate with its key');
  }
  const expiresAt = Date.parse(member('expirationTimestamp') ?? '');
  return { token, certificate, key, expiresAt: Number.isNaN(expiresAt) ? Infinity : expiresAt };
}
