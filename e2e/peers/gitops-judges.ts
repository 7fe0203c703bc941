import { readFileSync } from 'node:fs';
import type { KubeObject } from '../../src/api/meta.ts';
import { startJudge, type Judge } from './judge.ts';
import { findPeer } from './programs.ts';

/** The verdicts of Flux (by kstatus) and Argo CD (by gitops-engine) on objects. */
export interface GitOpsJudges {
  /** The status that kstatus, the library of cli-utils, computes. */
  kstatus(object: KubeObject): Promise<{ status: string; message: string }>;
  /** Health by gitops-engine; with `config/argocd/health.lua` for our kinds. Null if it has no opinion. */
  health(object: KubeObject): Promise<{ status: string; message?: string } | null>;
  /** Both sides of what gitops-engine finds different between Git and the cluster; undefined if nothing differs. */
  difference(git: object, live: KubeObject): Promise<{ wanted: unknown; found: unknown } | undefined>;
  close(): Promise<void>;
}

interface ArgoQuestion {
  live: KubeObject;
  git?: object;
  script?: string;
}
interface ArgoAnswer {
  health: { status: string; message?: string } | null;
  differs?: boolean;
  predicted?: unknown;
  normalized?: unknown;
  error?: string;
}

const script = readFileSync(new URL('../../config/argocd/health.lua', import.meta.url), 'utf8');

/** Starts both programs. An error of a program about an object rejects the call. */
export async function startGitOpsJudges(): Promise<GitOpsJudges> {
  const flux: Judge<KubeObject, { status: string; message: string; error?: string }> = startJudge(
    await findPeer('kstatus'),
  );
  const argo: Judge<ArgoQuestion, ArgoAnswer> = startJudge(await findPeer('argo-cd'));
  const askArgo = async (question: ArgoQuestion): Promise<ArgoAnswer> => {
    const ours = question.live.apiVersion?.startsWith('svc.dev/') === true;
    const answer = await argo.ask(ours ? { ...question, script } : question);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  };
  return {
    async kstatus(object) {
      const { error, ...result } = await flux.ask(object);
      if (error !== undefined) throw new Error(error);
      return result;
    },
    health: async (object) => (await askArgo({ live: object })).health,
    async difference(git, live) {
      const { differs, predicted, normalized } = await askArgo({ live, git });
      return differs === true ? { wanted: predicted, found: normalized } : undefined;
    },
    async close() {
      await flux.close();
      await argo.close();
    },
  };
}
