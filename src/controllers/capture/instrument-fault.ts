/** Why the last run of a node's instrument ended, as its pod's status tells. */
export interface InstrumentFault {
  reason: 'MissingCapability' | 'KernelUnsupported' | 'ConfigRefused' | 'OutOfMemory' | 'InstrumentCrashed';
  message: string;
  /** When that run ended, RFC 3339: tells one end from the next. */
  at: string;
}

export interface ContainerStatus {
  name: string;
  state?: { terminated?: Terminated };
  lastState?: { terminated?: Terminated };
}

interface Terminated {
  exitCode: number;
  reason?: string;
  /** The last lines of its log, where it failed: the pod asks for `FallbackToLogsOnError`. */
  message?: string;
  finishedAt?: string;
}

/** The name of the container in the agents' pods. */
export const instrumentContainerName = 'instrument';

/**
 * The fault of the newest run that ended by itself; null when none did. It says nothing about whether the instrument
 * runs now: a container that crashes over and over runs for a moment each time, and its agent knows better. Pure.
 * The texts are those of the upstream instrument.
 */
export function instrumentFault(statuses: readonly ContainerStatus[] | undefined): InstrumentFault | null {
  const status = statuses?.find((c) => c.name === instrumentContainerName);
  const ended = status?.state?.terminated ?? status?.lastState?.terminated;
  // 0 is a stop that was asked for; 137 and 143 are how the kubelet ends what does not stop by itself.
  if (!ended || ended.exitCode === 0 || (endedBySignal.has(ended.exitCode) && ended.reason !== 'OOMKilled'))
    return null;
  return { ...judge(ended), at: ended.finishedAt ?? '' };
}

/** True for what happens again with every start, so that nobody needs to wait for it. */
export function isLasting({ reason }: InstrumentFault): boolean {
  return reason === 'MissingCapability' || reason === 'KernelUnsupported' || reason === 'ConfigRefused';
}

const endedBySignal: ReadonlySet<number> = new Set([137, 143]);
const missingCapabilities = /following capabilities are required: *((?:CAP_[A-Z_]+[, ]*)+)/;
const kernelTexts = /\b(kprobes?|BTF|tracefs|debugfs)\b|kernel (version|does not support)|unsupported kernel/i;
const configTexts =
  /wrong configuration|can't open |failed on the '[a-z]+' tag|unmarshal|configuration file|must have a scheme|missing (the )?scheme/i;

function judge({ exitCode, reason, message = '' }: Terminated): Omit<InstrumentFault, 'at'> {
  if (reason === 'OOMKilled') {
    return { reason: 'OutOfMemory', message: 'the instrument was ended at its memory limit' };
  }
  const capabilities = missingCapabilities.exec(message)?.[1];
  if (capabilities) {
    return { reason: 'MissingCapability', message: capabilities.split(/[, ]+/).filter(Boolean).join(', ') };
  }
  const words = lastWords(message) || `the instrument ended with code ${exitCode}`;
  if (configTexts.test(message)) return { reason: 'ConfigRefused', message: words };
  if (kernelTexts.test(message)) return { reason: 'KernelUnsupported', message: words };
  return { reason: 'InstrumentCrashed', message: words };
}

/** What the last error line says, without time, level and component: a status that repeats them never settles. */
function lastWords(log: string): string {
  const lines = log.split('\n').filter((line) => line.trim() !== '');
  const line = lines.findLast((l) => /level=ERROR|"level":"ERROR"|panic:/.test(l)) ?? lines.at(-1) ?? '';
  const field = (name: string): string | undefined => {
    const quoted = new RegExp(`\\b${name}="((?:[^"\\\\]|\\\\.)*)"`).exec(line)?.[1];
    return quoted?.replaceAll(/\\(.)/g, '$1') ?? new RegExp(`\\b${name}=(\\S+)`).exec(line)?.[1];
  };
  const said = [field('msg'), field('error') ?? field('err')].filter((part) => part !== undefined && part !== '');
  return (said.length > 0 ? said.join(': ') : line).slice(0, 300);
}
