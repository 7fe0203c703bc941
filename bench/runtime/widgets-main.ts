import { preferMemoryToSpeed } from '../../src/runtime/memory.ts';

/** As `svc operator` begins: first how V8 is to behave, then the rest of the program. */
preferMemoryToSpeed();
await import('./widgets.ts');
