import { preferMemoryToSpeed } from '../../src/runtime/memory.ts';

/** Begins as `svc operator` does: sets V8's flags before the rest of the program is loaded. */
preferMemoryToSpeed();
await import('./widgets.ts');
