import { RuntimeOperator } from '../runtime/dot-i-operator.ts';

/**
 * An operator as a process. It watches Widgets, takes half a second for each, and stops on SIGTERM as the documentation
 * of `@dot-i/k8s-operator` demands. It never calls `process.exit`; it ends when nothing is left to do.
 */
class Program extends RuntimeOperator {
  protected override async init(): Promise<void> {
    await this.watchResource('example.dev', 'v1', 'widgets', async (event) => {
      console.log(`begins ${event.meta.name}`);
      await new Promise((resolve) => setTimeout(resolve, 500));
      console.log(`ends ${event.meta.name}`);
    });
  }
}

const operator = new Program();
process.once('SIGTERM', () => void operator.stop());
await operator.start();
