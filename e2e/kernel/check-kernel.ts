import { existsSync, readFileSync } from 'node:fs';
import { kernelFault } from '../../src/agent/capture/capture-facts.ts';
import type { Check } from './check.ts';

/** Checks of the kernel itself, and of the first config that the instrument gets on it. */
export const kernel: readonly Check[] = [
  {
    what: 'the kernel has kprobes, uprobes and type information, and the agent finds nothing missing',
    run: async () => {
      const fault = await kernelFault();
      if (fault !== null) throw new Error(fault);
      if (!existsSync('/sys/bus/event_source/devices/uprobe')) throw new Error('no uprobes');
      return readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim();
    },
  },
  {
    what: 'the instrument takes the rendered file, and its start is acknowledged',
    run: (stage) => stage.condition('shop', 'Programmed', 'True/Programmed'),
  },
];
