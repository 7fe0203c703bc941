/** The nodes missing from an answer, named above the numbers that lack them. */
import { createContext, type ComponentChildren, type JSX } from 'preact';
import { useCallback, useContext, useEffect, useId, useState } from 'preact/hooks';
import type { Answer } from '../api/client.ts';

/** Receives the nodes missing from one part of a view. */
type Tell = (part: string, missing: readonly string[]) => void;
const Collector = createContext<Tell | undefined>(undefined);

/** Shows nothing if the answer is complete, or if an enclosing `DegradedOnce` names the nodes. */
export function Degraded({ answer }: { answer: Answer<unknown> | undefined }): JSX.Element | null {
  const part = useId();
  const tell = useContext(Collector);
  const missing = answer?.degraded ? answer.missingNodes : [];
  useEffect(() => {
    tell?.(part, missing);
    return () => tell?.(part, []);
  }, [tell, missing.join()]);
  return tell ? null : <Missing nodes={missing} />;
}

/** Encloses a view of several answers. Names the nodes missing from any of them once, above all of them. */
export function DegradedOnce({ children }: { children: ComponentChildren }): JSX.Element {
  const [parts, setParts] = useState<ReadonlyMap<string, readonly string[]>>(new Map());
  const tell = useCallback<Tell>((part, missing) => setParts((before) => new Map(before).set(part, missing)), []);
  return (
    <Collector.Provider value={tell}>
      <Missing nodes={[...new Set([...parts.values()].flat())]} />
      {children}
    </Collector.Provider>
  );
}

function Missing({ nodes }: { nodes: readonly string[] }): JSX.Element | null {
  if (nodes.length === 0) return null;
  const some = nodes.toSorted().slice(0, 8).join(', ') + (nodes.length > 8 ? ` and ${nodes.length - 8} more` : '');
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
