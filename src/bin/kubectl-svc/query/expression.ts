import { readFile, stat } from 'node:fs/promises';
import { errorText } from '../../../base/errors.ts';
import { PluginError, UsageError } from '../errors.ts';
import type { Session } from '../session.ts';

const maxBytes = 1024 * 1024;

/**
 * The expression of the argument, of the file (`-` too is the standard input), or of the standard input.
 * Errors: UsageError when there is none or more than one, PluginError for a file that cannot be read.
 */
export async function expressionOf(
  session: Pick<Session, 'readStdin' | 'flags'>,
  argument: string | undefined,
  file: string | undefined,
): Promise<string> {
  if (session.flags.namespace !== undefined || session.flags.allNamespaces)
    throw new UsageError(
      'a query names its namespaces itself',
      'such as http_server_request_duration_count{k8s_namespace_name="shop"}',
    );
  if (argument !== undefined && file !== undefined) throw new UsageError('an expression and --file exclude each other');
  const source = argument ?? (file === '-' ? '-' : undefined);
  if (source === undefined && file === undefined)
    throw new UsageError(
      "what to ask? kubectl svc query 'sum(svc_agent_up)'",
      'or - to read it from the standard input',
    );
  const text = source === undefined ? await readExpression(file!) : source === '-' ? await session.readStdin() : source;
  if (text.trim() === '') throw new UsageError('the expression is empty');
  return text;
}

async function readExpression(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > maxBytes) throw new Error(`it has ${size} bytes, ${maxBytes} are taken`);
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new PluginError('ERR_INPUT_INVALID', `--file ${path}: ${errorText(cause)}`, { cause });
  }
}
