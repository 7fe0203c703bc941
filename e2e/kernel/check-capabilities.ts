import { captureCapabilities } from '../../src/render/agent/instrument.ts';
import type { Check } from './check.ts';

/** What the container has and the instrument asks for on this kernel. It asks for SYS_RESOURCE on those before 5.11. */
const capabilities = captureCapabilities.filter((name) => name !== 'SYS_RESOURCE');

/** Each capability taken away: what the status says, and that it is over when the node is repaired. */
export const missingCapabilities: readonly Check[] = [
  ...capabilities.map((name): Check => ({
    what: `without CAP_${name} the status says so`,
    run: async (stage) => {
      await stage.instrument.stop();
      stage.startInstrument(name);
      return stage.condition('shop', 'Capturing', 'False/MissingCapability', `CAP_${name}`);
    },
  })),
  {
    what: 'with all of them the same monitor captures again',
    run: async (stage) => {
      await stage.instrument.stop();
      stage.startInstrument();
      return stage.condition('shop', 'Programmed', 'True/Programmed');
    },
  },
];
