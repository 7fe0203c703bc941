import type { Check } from './check.ts';

/** What the instrument asks for, one by one: names as the kernel has them. */
const capabilities = [
  'CAP_BPF',
  'CAP_PERFMON',
  'CAP_SYS_PTRACE',
  'CAP_DAC_READ_SEARCH',
  'CAP_CHECKPOINT_RESTORE',
  'CAP_NET_RAW',
];

/** Each capability taken away: what the status says, and that it is over when the node is repaired. */
export const missingCapabilities: readonly Check[] = [
  ...capabilities.map((name): Check => ({
    what: `without ${name} the status says so`,
    run: async (stage) => {
      await stage.instrument.stop();
      if (stage.standsIn) stage.startInstrument({ STANDIN_MISSING_CAPS: name });
      else {
        const bounding = `-${name.slice('CAP_'.length).toLowerCase()}`;
        stage.startInstrument({}, [
          '/usr/bin/setpriv',
          `--bounding-set=${bounding}`,
          `--inh-caps=${bounding}`,
          stage.orders.instrument!,
        ]);
      }
      return stage.condition('shop', 'Capturing', 'False/MissingCapability', name);
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
