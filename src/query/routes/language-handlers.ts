import { parse, print, QueryError } from '../../promql/index.ts';
import type { Expr } from '../../promql/index.ts';
import { invalidParameter } from '../api/api-error.ts';
import type { Handler } from '../api/call.ts';
import { parseTree } from '../json/parse-tree.ts';
import { sendSuccess } from '../api/respond.ts';

/** `/api/v1/format_query` */
export const formatQuery: Handler = async ({ req, res, params }) => {
  await sendSuccess(req, res, [JSON.stringify(print(queryExpr(params)))]);
};

/** `/api/v1/parse_query` */
export const parseQuery: Handler = async ({ req, res, params }) => {
  await sendSuccess(req, res, [JSON.stringify(parseTree(queryExpr(params)))]);
};

/** The parsed `query` parameter. Errors: ApiError bad_data. */
export function queryExpr(params: URLSearchParams): Expr {
  try {
    return parse(params.get('query') ?? '', { experimentalFunctions: true });
  } catch (error) {
    if (error instanceof QueryError) throw invalidParameter('query', error.message);
    throw error;
  }
}
