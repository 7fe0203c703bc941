import { captureCapabilities } from '../../src/render/agent/instrument.ts';
import type { Check } from './check.ts';
import { countsOn } from './check-requests.ts';

/** What the container has and the instrument asks for on this kernel: for SYS_RESOURCE only on those before 5.11. */
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
    what: 'without CAP_SYS_ADMIN, as by default, the status says that Go and TLS are not captured; Node is, exactly',
    real: true,
    run: async (stage) => {
      await stage.instrument.stop();
      stage.startInstrument('SYS_ADMIN');
      await countsOn(stage, 'node');
      return stage.condition('shop', 'Capturing', 'True/TrafficSeen', 'refuses uprobes without SYS_ADMIN');
    },
  },
  {
    what: 'with all of them the same monitor captures again, Go as well',
    run: async (stage) => {
      await stage.instrument.stop();
      stage.startInstrument();
      await countsOn(stage, 'go');
      return stage.condition('shop', 'Programmed', 'True/Programmed');
    },
  },
];
