/**
 * An agent that has no certificate as far as the operator knows, or whose certificate ends soon without a replacement.
 */
export interface WaitingAgent {
  readonly pod: string;
  readonly node: string;
  /** Why no certificate could be given, e.g. "the agent does not answer". */
  readonly why: string;
}

/** The summary names at most this many agents. */
const maxNamed = 5;

/** The agents that wait for a certificate, for the reports that show them. */
export class WaitingAgents {
  readonly #agents = new Map<string, WaitingAgent>();
  readonly #listeners = new Set<() => void>();

  /** Records an agent. True when it was not in the list, or had another reason. */
  note(agent: WaitingAgent): boolean {
    const known = this.#agents.get(agent.pod);
    if (known?.why === agent.why && known.node === agent.node) return false;
    this.#change(() => this.#agents.set(agent.pod, agent));
    return true;
  }

  forget(pod: string): void {
    if (this.#agents.has(pod)) this.#change(() => this.#agents.delete(pod));
  }

  /** All waiting agents in one line, by node; `''` for none. */
  get summary(): string {
    const agents = [...this.#agents.values()].sort((a, b) => (a.node < b.node ? -1 : 1));
    const named = agents.slice(0, maxNamed).map(({ node, pod, why }) => `${node} (pod ${pod}): ${why}`);
    const more = agents.length - named.length;
    return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
  }

  /** Calls back when `summary` has changed. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  #change(how: () => void): void {
    const before = this.summary;
    how();
    if (this.summary !== before) for (const listener of this.#listeners) listener();
  }
}
