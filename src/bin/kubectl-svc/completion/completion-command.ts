import { Argument } from 'commander';
import { shapeOf } from '../../completion/command-shape.ts';
import { completionScript, shells, type Shell } from '../../completion/scripts.ts';
import type { Register } from '../command.ts';

const help = `
kubectl itself completes "kubectl svc …", with namespaces and metrics of the cluster, in any shell that its own
completion is loaded in, when kubectl_complete-svc is in the PATH beside kubectl-svc. This script is for calling
kubectl-svc by its name.

For this session: source <(kubectl svc completion bash)
For fish: kubectl svc completion fish | source`;

/** `kubectl svc completion`. */
export const registerCompletion: Register = (command, run) => {
  command
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText('after', help)
    .action(
      run(async (session, shell: Shell) => {
        const { wholeProgram } = await import('../program.ts');
        const root = shapeOf(await wholeProgram(session.host));
        session.stdout.write(completionScript(shell, { ...root, name: 'kubectl-svc' }));
      }),
    );
};
