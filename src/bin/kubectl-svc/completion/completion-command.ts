import { describeCompletion } from '../../completion/completion-command.ts';
import { completionScript, type Shell } from '../../completion/scripts.ts';
import type { Register } from '../command.ts';

const help = `
kubectl itself completes "kubectl svc …" in any shell that its own completion is loaded in, when kubectl_complete-svc is
in the PATH beside kubectl-svc. This script is for calling kubectl-svc by its name.
`;

/** `kubectl svc completion`. */
export const registerCompletion: Register = (command, run) => {
  describeCompletion(command, 'kubectl svc', help).action(
    run(async (session, shell: Shell) => void session.stdout.write(completionScript(shell, 'kubectl-svc'))),
  );
};
