import { readView } from '../cluster/read-view.ts';
import { itemsOf } from '../cluster/view.ts';
import type { Register } from '../command.ts';
import { exitCodes, UsageError } from '../errors.ts';
import { outputOption, printed } from '../output/print.ts';
import { podFacts, runsAgents } from '../../../controllers/capture/facts.ts';
import type { Session } from '../session.ts';
import { askSeries, maxPods } from './ask-series.ts';
import { known } from './explain-pod.ts';
import { explain, podsOfTarget } from './explanation.ts';
import { explanationText } from './render.ts';
import { parseTarget, targetWords } from './target.ts';

const formats = ['text', 'json', 'yaml'];

const help = `
KIND is ${targetWords.join(', ')}.
Each step is a question that must be answered with yes before there is data: ✓ yes, ✗ no, ! worth knowing, ? unknown.
The first ✗ comes with a way to resolve it. The query server is asked whether there is data.
Exit code: 0 when nothing stands in the way, 1 when something does.

Examples:
  kubectl svc explain pod/checkout-7d4-x2x -n shop     why is this pod captured or not, and how
  kubectl svc explain deployment/checkout -n shop      the same for all pods of a workload
  kubectl svc explain monitor/checkout -n shop         what a TrafficMonitor selects, and what becomes of it
  kubectl svc explain node/node-1                      agent, config, kernel and instrument of a node
`;

export const registerExplain: Register = (command, run) => {
  command
    .description(
      'walk the way from the resources to the data of a pod, workload, monitor or node, and say where it ends',
    )
    .argument('<object...>', 'KIND/NAME')
    .addOption(outputOption('how to print', formats).default('text'))
    .addHelpText('after', help)
    .action(run((session, args: string[], flags: { output: string }) => explainCommand(session, args, flags.output)));
};

async function explainCommand(session: Session, args: readonly string[], output: string): Promise<number> {
  const target = parseTarget(args);
  const { flags, clock, signal } = session;
  const namespace = target.type === 'node' ? '' : await session.namespace();
  if (namespace === undefined) throw new UsageError('-A names no namespace; use -n');
  const view = await readView({
    client: await session.kube(),
    namespace: flags.operatorNamespace,
    atLeast: namespace === '' ? undefined : namespace,
    now: clock.now(),
    without: ['crds', 'secrets', 'apiServices', 'events', 'operatorEvents', 'minters', 'leases'],
    signal,
  });
  const unasked = known(view, { fault: 'it was not asked' });
  const all = podsOfTarget(target, namespace, view, unasked);
  const pods = all.slice(0, maxPods);
  if (all.length > maxPods) session.warn(`of ${all.length} pods the first ${maxPods} are explained`);
  const facts = pods.flatMap((pod) => podFacts(pod) ?? []);
  const nodes = target.type === 'node' ? [target.name] : [...new Set(facts.map(({ nodeName }) => nodeName))];
  const asked = {
    pods: facts,
    nodes:
      nodes.length > 0
        ? nodes
        : itemsOf(view.nodes)
            .filter(runsAgents)
            .map((n) => n.metadata.name ?? ''),
  };
  const series = await askSeries(() => session.connect(), asked, signal);
  if (series.fault !== undefined) session.warn(`the query server could not be asked: ${series.fault}`);
  else if (series.missingNodes.length > 0) session.warn(`degraded: no answer from ${series.missingNodes.join(', ')}`);
  if (unasked.assumed !== null)
    session.warn(
      `the operator's settings are not known (${unasked.assumed}); those of a new installation stand for them`,
    );
  const explanation = explain(target, namespace, pods, { ...unasked, facts: series });
  session.stdout.write(await printed(output, explanation, () => explanationText(explanation, session.style)));
  return explanation.well ? exitCodes.fine : exitCodes.error;
}
