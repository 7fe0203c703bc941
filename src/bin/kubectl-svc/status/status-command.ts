import { Argument } from 'commander';
import { sleep } from '../../../base/clock.ts';
import { errorText, isOperatorError, type ErrorCode } from '../../../base/errors.ts';
import { isUnauthorized } from '../../../kube/index.ts';
import { readView } from '../cluster/read-view.ts';
import type { ClusterView } from '../cluster/view.ts';
import type { Register } from '../command.ts';
import { exitCodes } from '../errors.ts';
import { outputOption, printed } from '../output/print.ts';
import { printable } from '../output/table.ts';
import { durationFlag } from '../query/times.ts';
import type { Session } from '../session.ts';
import { isWell } from './check.ts';
import { part, statusParts, type PartName, type PartReport } from './parts.ts';
import { nodeTable, reportText } from './render.ts';
import { statusReport, type StatusReport } from './report.ts';

const formats = ['table', 'json', 'yaml'];

interface StatusFlags {
  output: string;
  wait: boolean;
  timeout: string;
}

/** Interval between two checks of `--wait`. Units: ms. */
const lookMs = 2_000;

const help = `
Monitors and minters are those of all namespaces, or of the one that -n names.
Exit code: 0 when all is well, 1 when something is not (lines with ✗ or …). What cannot be read (?) and what is only
worth knowing (!) are no faults.

Examples:
  kubectl svc status                          the whole product
  kubectl svc status --wait --timeout 2m      until all is well, for scripts
  kubectl svc status nodes                    one line for each node
  kubectl svc status tm checkout -n shop      each condition of one monitor
  kubectl svc status -o json | jq '.checks[] | select(.state == "bad")'
`;

export const registerStatus: Register = (command, run) => {
  command
    .description(
      'show how the operator, its agents, query servers, minters and resources fare, and what to do about faults',
    )
    .addArgument(new Argument('[kind]', 'one kind only').choices([...statusParts.keys()]))
    .argument('[name]', 'one object only, with all of its conditions')
    .addOption(outputOption('how to print', formats).default('table'))
    .option('--wait', 'wait until all is well', false)
    .option('--timeout <duration>', 'how long --wait may take', '5m')
    .addHelpText('after', help)
    .action(
      run((session, kind: string | undefined, name: string | undefined, flags: StatusFlags) =>
        status(session, kind, name, flags),
      ),
    );
};

async function status(
  session: Session,
  kind: string | undefined,
  name: string | undefined,
  flags: StatusFlags,
): Promise<number> {
  const { clock, signal } = session;
  const timeoutMs = durationFlag(flags.timeout, '--timeout');
  const which = kind === undefined ? undefined : statusParts.get(kind)!;
  const deadline = clock.monotonic() + (flags.wait ? timeoutMs : 0);
  let written = '';
  for (;;) {
    const seen = await lookAt(session, which, name);
    const left = deadline - clock.monotonic();
    if ('error' in seen) {
      if (left <= 0 || !mayPass(seen.error)) throw seen.error;
    } else if (left <= 0 || (seen.report.well && seen.unread.length === 0)) {
      const { report, unread } = seen;
      const { style } = session;
      const text = () => (report.rows ? nodeTable(report.rows, style) : reportText(report, style));
      session.stdout.write(await printed(flags.output, report, text));
      const well = report.well && !(flags.wait && unread.length > 0);
      if (!well && flags.wait) session.warn(`not well within ${flags.timeout}`);
      return well ? exitCodes.fine : exitCodes.error;
    }
    const waiting = 'error' in seen ? errorText(seen.error) : waitsFor(seen.report, seen.unread);
    if (waiting !== written) session.stderr.write(`waiting: ${printable((written = waiting))}\n`);
    await sleep(clock, Math.min(lookMs, left), signal);
  }
}

/** A report, with the reasons why some of it is not known now; or why there is none. */
type Seen = { readonly report: PartReport; readonly unread: readonly string[] } | { readonly error: unknown };

async function lookAt(session: Session, which: PartName | undefined, name: string | undefined): Promise<Seen> {
  try {
    const view = await look(session, which, name);
    if (which === undefined) return { report: statusReport(view), unread: faultsThatPass(Object.values(view)) };
    // The list of the kind itself is not among these: `part` throws when it failed.
    const { ownPods, daemonSets, policies, monitors } = view;
    const besides = which === 'nodes' ? [ownPods, daemonSets, policies, monitors] : [];
    return { report: part(view, which, name), unread: faultsThatPass(besides) };
  } catch (error) {
    return { error };
  }
}

/** Codes of reads that may succeed later; missing rights, for example, stay missing. */
const passing: readonly ErrorCode[] = ['ERR_API_REQUEST', 'ERR_TIMEOUT'];

const mayPass = (error: unknown): boolean =>
  isOperatorError(error) ? passing.includes(error.code) && !isUnauthorized(error) : error instanceof Error;

/** Why lists could not be read that may be read later. */
function faultsThatPass(members: readonly ClusterView[keyof ClusterView][]): string[] {
  return members.flatMap((member) =>
    typeof member === 'object' && member.fault !== undefined && passing.includes(member.code) ? member.fault : [],
  );
}

async function look(session: Session, which: PartName | undefined, name: string | undefined): Promise<ClusterView> {
  const { flags, clock, signal } = session;
  // A named object is looked up in a namespace, as with kubectl; everything else is listed in all namespaces unless one
  // is given.
  const one = name !== undefined && (which === 'trafficmonitors' || which === 'minterdeployments');
  return readView({
    client: await session.kube(),
    namespace: flags.operatorNamespace,
    objectNamespace: one ? await session.namespace() : flags.namespace,
    now: clock.now(),
    signal,
  });
}

/** A short text about the first three things that are not well or not known. */
function waitsFor({ checks }: StatusReport, unread: readonly string[]): string {
  const bad = checks.filter((check) => !isWell([check])).map(({ subject, text }) => `${subject}: ${text}`);
  return [...bad, ...unread].slice(0, 3).join('; ');
}
