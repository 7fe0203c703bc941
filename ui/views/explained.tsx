/** Which policies and monitors apply to a workload, where its pods run, and why a pod has no data. */
import type { JSX } from 'preact';
import { explain, type ExplainStep, type PodExplanation } from '../api/page.ts';
import { Shown } from '../parts/states.tsx';
import { useAnswer } from '../state/use-answer.ts';

const signs: Readonly<Record<ExplainStep['answer'], string>> = { yes: '✓', no: '✕', note: '▲', unknown: '?' };
const words: Readonly<Record<ExplainStep['answer'], string>> = {
  yes: 'yes',
  no: 'no',
  note: 'worth knowing',
  unknown: 'not known',
};
const obstacleOf = ({ steps }: PodExplanation): ExplainStep | undefined => steps.find(({ answer }) => answer === 'no');

export function Explained(workload: { namespace: string; workload: string; kind: string }): JSX.Element {
  const key = `explain ${workload.namespace}/${workload.kind}/${workload.workload}`;
  const asked = useAnswer(key, (signal) => explain(workload, { signal }), { everyMs: 30_000 });
  return (
    <section aria-label="Capture">
      <h2>Pods and their capture</h2>
      <Shown asked={asked} what="what decides about capture">
        {({ pods, settings, operator }) => {
          // The steps of one pod are shown for all: those of the first pod with an obstacle, or else of the first pod.
          const shown = pods.find(obstacleOf) ?? pods[0];
          if (!shown) return <p class="quiet">No pod of it is on a node.</p>;
          return (
            <>
              <Pods pods={pods} />
              <details open={obstacleOf(shown) !== undefined}>
                <summary>How it is decided for {shown.pod}</summary>
                <Steps steps={shown.steps} />
              </details>
              <details>
                <summary>Settings, and where each comes from</summary>
                <table>
                  <thead>
                    <tr>
                      <th scope="col">Setting</th>
                      <th scope="col">Value</th>
                      <th scope="col">From</th>
                    </tr>
                  </thead>
                  <tbody>
                    {settings.map(({ path, value, from }) => (
                      <tr key={path}>
                        <td>
                          <code>{path}</code>
                        </td>
                        <td>{value === null ? 'as built in' : String(value)}</td>
                        <td>{from}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
                <p class="quiet">
                  Where no policy decides, the operator’s flags do: <code>--obi-instrument-ports</code>{' '}
                  {operator.instrumentPorts}, <code>--instrument-version</code> {operator.instrumentVersion},{' '}
                  <code>--allow-extra-config</code> {String(operator.allowExtraConfig)}.
                </p>
              </details>
            </>
          );
        }}
      </Shown>
    </section>
  );
}

function Pods({ pods }: { pods: readonly PodExplanation[] }): JSX.Element {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Pods">
      <table>
        <thead>
          <tr>
            <th scope="col">Pod</th>
            <th scope="col">Node</th>
            <th scope="col">Captured</th>
          </tr>
        </thead>
        <tbody>
          {pods.map((one) => {
            const obstacle = obstacleOf(one);
            return (
              <tr key={one.pod}>
                <td>{one.pod}</td>
                <td>{one.node}</td>
                <td>
                  {obstacle ? (
                    <span class="tag bad">
                      ✕ {obstacle.fact} <small class="reason">{obstacle.way}</small>
                    </span>
                  ) : (
                    <span class="tag good">✓ nothing stands in the way</span>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Steps({ steps }: { steps: readonly ExplainStep[] }): JSX.Element {
  return (
    <dl class="steps">
      {steps.map(({ asks, answer, fact, way }) => (
        <>
          <dt class={answer === 'no' ? 'tag bad' : ''}>
            <span aria-hidden="true">{signs[answer]} </span>
            <span class="away">{words[answer]}: </span>
            {asks}
          </dt>
          <dd>
            {fact}
            {way === undefined ? null : <small class="reason"> → {way}</small>}
          </dd>
        </>
      ))}
    </dl>
  );
}
