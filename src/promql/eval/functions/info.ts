import { executionError } from '../../errors.ts';
import type { CallExpr } from '../../parser/ast.ts';
import type { Column } from '../columns.ts';
import type { EvalContext } from '../context.ts';
import type { Frame } from '../frame.ts';

export async function evaluateInfo(_context: EvalContext, _call: CallExpr, _frame: Frame): Promise<Column[]> {
  return Promise.reject(executionError('function "info" is not supported'));
}
