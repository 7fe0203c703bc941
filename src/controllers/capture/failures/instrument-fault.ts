import { cutToUnits } from '../../../base/text/texts.ts';
import type { ContainerStatus, Terminated } from '../../../api/statuses.ts';
import { isPullReason } from '../../pod-trouble.ts';

/** Why the last run of a node's instrument ended, as its pod's status reports it. */
export interface InstrumentFault {
  reason: 'MissingCapability' | 'KernelUnsupported' | 'ConfigRefused' | 'OutOfMemory' | 'InstrumentCrashed';
  message: string;
  /** When that run ended, RFC 3339: distinguishes one end from the next. Empty for a container that did not start. */
  at: string;
}

/** What the kubelet waits for before it starts an instrument again: its file is not to blame. */
export interface InstrumentWait {
  reason: 'RestartBackOff' | 'ImagePullFailed';
  message: string;
}

/** The name of the container in the agents' pods. */
export const instrumentContainerName = 'instrument';

/**
 * The fault of the newest run that ended by itself; null when none did. It does not say whether the instrument runs
 * now, because a container in a crash loop runs for a moment each time. The agent's status says that. Pure.
 * The patterns match the texts of the upstream instrument.
 */
export function instrumentFault(statuses: readonly ContainerStatus[] | undefined): InstrumentFault | null {
  const status = statuses?.find((c) => c.name === instrumentContainerName);
  const waiting = status?.state?.waiting;
  if (waiting?.message !== undefined && refusedCapabilities.test(waiting.message)) {
    return { reason: 'MissingCapability', message: refusal(waiting.message), at: '' };
  }
  const ended = status?.state?.terminated ?? status?.lastState?.terminated;
  // Exit code 0 is a requested stop; with 137 and 143 the kubelet ended a container that did not stop by itself.
  if (!ended || ended.exitCode === 0 || (endedBySignal.has(ended.exitCode) && ended.reason !== 'OOMKilled'))
    return null;
  return { ...judge(ended), at: ended.finishedAt ?? '' };
}

/**
 * The wait of the kubelet before it starts an instrument again that ended with code 0, or whose image it cannot pull.
 * Null without one. Pure. An agent pod in which no instrument has started yet is `Pending`, so nothing judges it.
 */
export function instrumentWait(statuses: readonly ContainerStatus[] | undefined): InstrumentWait | null {
  const status = statuses?.find((c) => c.name === instrumentContainerName);
  const { reason = '', message = 'back-off restarting the instrument' } = status?.state?.waiting ?? {};
  // The kubelet's message about an image changes with every try; a status that repeated it would never settle.
  if (isPullReason(reason))
    return { reason: 'ImagePullFailed', message: 'the image of the instrument cannot be pulled' };
  if (reason !== 'CrashLoopBackOff' || status?.lastState?.terminated?.exitCode !== 0) return null;
  const words = `nothing failed, the kubelet waits before it starts the instrument: ${cutToUnits(message, 300)}`;
  return { reason: 'RestartBackOff', message: words };
}

/** True for a fault that every start will meet again, so that waiting is pointless. */
export function isLasting({ reason }: InstrumentFault): boolean {
  return reason === 'MissingCapability' || reason === 'KernelUnsupported' || reason === 'ConfigRefused';
}

const endedBySignal: ReadonlySet<number> = new Set([137, 143]);
/** Messages of a container runtime that may not grant a requested capability. The texts are those of runc and crun. */
const refusedCapabilities = /(unable to|can't|cannot|failed to) (apply|set) (the )?cap(abilitie)?s/i;
const missingCapabilities = /following capabilities are required: *((?:CAP_[A-Z_]+[, ]*)+)/;
const kernelTexts = /\b(kprobes?|BTF|tracefs|debugfs)\b|kernel (version|does not support)|unsupported kernel/i;
const configTexts =
  /wrong configuration|can't open |failed on the '[a-z]+' tag|unmarshal|configuration file|must have a scheme|missing (the )?scheme/i;
/** Errors of the node, in the words of Node.js and of Go: another start may not meet them, whatever the config. */
const systemTexts =
  /\bE(NOSPC|DQUOT|IO|MFILE|NFILE|NOMEM)\b|no space left|quota exceeded|input\/output error|too many open files|cannot allocate memory/;

function judge({ exitCode, reason, message = '' }: Terminated): Omit<InstrumentFault, 'at'> {
  if (reason === 'OOMKilled') {
    return { reason: 'OutOfMemory', message: 'the instrument was ended at its memory limit' };
  }
  const last = lastWords(message);
  // Earlier error lines do not count: the instrument went on after them, for example without a probe.
  const capabilities = missingCapabilities.exec(last)?.[1];
  if (capabilities) {
    return { reason: 'MissingCapability', message: capabilities.split(/[, ]+/).filter(Boolean).join(', ') };
  }
  if (refusedCapabilities.test(message)) return { reason: 'MissingCapability', message: refusal(message) };
  const words = cutToUnits(last, 300) || `the instrument ended with code ${exitCode}`;
  if (!systemTexts.test(last)) {
    if (configTexts.test(last)) return { reason: 'ConfigRefused', message: words };
    if (kernelTexts.test(last)) return { reason: 'KernelUnsupported', message: words };
  }
  return { reason: 'InstrumentCrashed', message: words };
}

function refusal(message: string): string {
  return `the container runtime may not give the capabilities of the instrument's container: ${message.slice(-200)}`;
}

/**
 * The text of the last error line, without time, level and component: with the time, the status would change after each
 * run.
 */
function lastWords(log: string): string {
  const lines = log.split('\n').filter((line) => line.trim() !== '');
  const line = lines.findLast((l) => /level=ERROR|"level":"ERROR"|panic:/.test(l)) ?? lines.at(-1) ?? '';
  const field = (name: string): string | undefined => {
    const quoted = new RegExp(`\\b${name}="((?:[^"\\\\]|\\\\.)*)"`).exec(line)?.[1];
    return quoted?.replaceAll(/\\(.)/g, '$1') ?? new RegExp(`\\b${name}=(\\S+)`).exec(line)?.[1];
  };
  const said = [field('msg'), field('error') ?? field('err')].filter((part) => part !== undefined && part !== '');
  return said.length > 0 ? said.join(': ') : line;
}
