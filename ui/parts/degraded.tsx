/** What an answer lacks, above its numbers: the nodes missing from it by name, why, and its warnings. */
import { createContext, type ComponentChildren, type JSX } from 'preact';
import { useCallback, useContext, useEffect, useId, useState } from 'preact/hooks';
import type { Answer } from '../api/client.ts';
import { unitedLack, type Lack } from './lack.ts';

/** Receives what one part of a view lacks. */
type Tell = (part: string, lack: Lack) => void;
const Collector = createContext<Tell | undefined>(undefined);
const none: Lack = { missing: [], warnings: [] };

/** Shows nothing if the answer is complete, or if an enclosing `DegradedOnce` says what it lacks. */
export function Degraded({ answer }: { answer: Answer<unknown> }): JSX.Element | null {
  const part = useId();
  const tell = useContext(Collector);
  const { degraded, missingNodes, warnings } = answer;
  const lack = { missing: degraded ? missingNodes : [], warnings };
  useEffect(() => {
    tell?.(part, lack);
    return () => tell?.(part, none);
  }, [tell, JSON.stringify(lack)]);
  return tell ? null : <Lacks of={[lack]} />;
}

/** Encloses a view of several answers. Says once, above all of them, what any of them lacks. */
export function DegradedOnce({ children }: { children: ComponentChildren }): JSX.Element {
  const [parts, setParts] = useState<ReadonlyMap<string, Lack>>(new Map());
  const tell = useCallback<Tell>((part, lack) => setParts((before) => new Map(before).set(part, lack)), []);
  return (
    <Collector.Provider value={tell}>
      <Lacks of={[...parts.values()]} />
      {children}
    </Collector.Provider>
  );
}

function Lacks({ of }: { of: readonly Lack[] }): JSX.Element {
  const { missing, reasons, warnings } = unitedLack(of);
  return (
    <>
      <Missing nodes={missing} />
      <Reasons texts={reasons} />
      <Warnings texts={warnings} />
    </>
  );
}

/** So many nodes and warnings are shown at once. */
const most = 8;

function Missing({ nodes }: { nodes: readonly string[] }): JSX.Element | null {
  if (nodes.length === 0) return null;
  const rest = nodes.length > most ? ` and ${nodes.length - most} more` : '';
  const some = nodes.slice(0, most).join(', ') + rest;
  return (
    <p role="alert" class="note warn degraded">
      <span class="sign" aria-hidden="true">
        !
      </span>
      <span>
        <strong>Degraded:</strong> no answer from {some}. The numbers below lack these nodes. <a href="nodes">Nodes</a>
      </span>
    </p>
  );
}

/** Beside the alert, not in it: the durations in the texts change with each answer, which need not be announced. */
function Reasons({ texts }: { texts: readonly string[] }): JSX.Element | null {
  if (texts.length === 0) return null;
  return (
    <details>
      <summary>Why there is no answer</summary>
      <List texts={texts} />
    </details>
  );
}

function Warnings({ texts }: { texts: readonly string[] }): JSX.Element | null {
  if (texts.length === 0) return null;
  if (texts.length <= most) return <List texts={texts} />;
  return (
    <>
      <List texts={texts.slice(0, most)} />
      <details>
        <summary>{texts.length - most} more warnings</summary>
        <List texts={texts.slice(most)} />
      </details>
    </>
  );
}

const List = ({ texts }: { texts: readonly string[] }): JSX.Element => (
  <ul class="warnings">
    {texts.map((text) => (
      <li key={text}>{text}</li>
    ))}
  </ul>
);
