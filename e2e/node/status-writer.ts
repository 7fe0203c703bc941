import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from '../cluster/api.ts';
import { ApiError, strategicPatch } from '../cluster/api.ts';
import type { Pod, PodStatus } from './types.ts';

/**
 * Writes one pod's status, the latest only, until the API server has taken it.
 * Guarantees: when `flushed` resolves, the latest status is written or the pod is gone.
 */
export interface StatusWriter {
  write(status: PodStatus): void;
  /**
   * Takes note of the status that the API server has. While a node is silent, the control plane marks its pods as not
   * ready: the next write corrects that, as a kubelet's does.
   */
  seen(status: PodStatus | undefined): void;
  flushed(): Promise<void>;
  stop(): void;
}

export function createStatusWriter(api: Api, pod: Pod, onError: (error: unknown) => void): StatusWriter {
  const { namespace, name, uid } = pod.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`;
  let wanted: PodStatus | undefined;
  let written = '';
  let wasReady = false;
  let stopped = false;
  let running: Promise<void> | undefined;
  const drain = async (): Promise<void> => {
    for (let failures = 0; wanted && !stopped;) {
      const status = wanted;
      const text = JSON.stringify(withoutTimes(status));
      if (text === written) {
        wanted = undefined;
        continue;
      }
      try {
        await api.request('PATCH', path, patchOf(uid, status, pod.metadata.generation), {
          contentType: strategicPatch,
        });
        written = text;
        wasReady = isReady(status);
        failures = 0;
        if (wanted === status) wanted = undefined;
      } catch (error) {
        // The pod is gone, or another pod has its name by now: nothing is left to write.
        if (error instanceof ApiError && (error.status === 404 || error.status === 409)) stopped = true;
        else {
          onError(error);
          await delay(Math.min(2000, 100 * 2 ** failures++));
        }
      }
    }
  };
  return {
    write(status) {
      wanted = status;
      running ??= drain().finally(() => (running = undefined));
    },
    seen(status) {
      if (status !== undefined && wasReady && !isReady(status)) written = '';
    },
    async flushed() {
      while (running) await running;
    },
    stop() {
      stopped = true;
    },
  };
}

const isReady = ({ conditions }: PodStatus): boolean =>
  conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

/**
 * The API server merges the conditions by type, which is right, but it also merges the pod's addresses. So the patch
 * says that the addresses replace the earlier ones.
 */
function patchOf(uid: string, status: PodStatus, generation: number | undefined): object {
  return {
    metadata: { uid },
    status: {
      ...status,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      ...(status.podIPs ? { podIPs: [...status.podIPs, { $patch: 'replace' }] } : {}),
    },
  };
}

/** The status without transition times, for comparison: they change only with the status of their condition. */
function withoutTimes(status: PodStatus): PodStatus {
  return {
    ...status,
    ...(status.conditions ? { conditions: status.conditions.map((c) => ({ ...c, lastTransitionTime: '' })) } : {}),
  };
}
