import type { ControlPlane } from '../cluster/control-plane.ts';
import type { OutsideWorld } from '../demo/outside-world.ts';
import type { Node } from './node.ts';
import type { Orders } from './orders.ts';
import type { Product } from './product.ts';
import type { Programs } from './programs.ts';

/** Everything that a check may use. */
export interface Stage extends Product {
  readonly dir: string;
  readonly orders: Orders;
  readonly node: Node;
  readonly world: OutsideWorld;
  readonly plane: ControlPlane;
  readonly programs: Programs;
  readonly log: (line: string) => void;
}

/** One property of the product. `run` resolves to what was seen, or rejects with what is wrong. */
export interface Check {
  readonly what: string;
  readonly run: (stage: Stage) => Promise<string | void>;
}
